-- The boxes of the rows that a statement wrote, condensed at once so that bulk writes leave little behind, and who wrote them.
create or replace function touch_inserted() returns trigger language plpgsql as $$
declare
  n bigint;
  boxes double precision[];
  -- Numbers of boxes: of some 10,000 objects.
  many constant bigint := 40000;
begin
  select count(*), array_agg(v) into n, boxes
  from (select geom_3857 as g from new_rows) r
  left join lateral unnest(mapwright.box_numbers(g)) v on g is not null;
  if n = 0 then return null; end if;
  insert into mapwright.layer_touch (layer_id, area)
    values (tg_argv[0]::bigint, mapwright.condense_area(coalesce(boxes, '{}')));
  if current_setting('mapwright.history', true) = 'off' then return null; end if;
  if n <= many then
    insert into mapwright.object_history (layer_id, object_id, op, login)
      select tg_argv[0]::bigint, svc_id, 'i', coalesce(current_setting('mapwright.login', true), '') from new_rows;
  else
    insert into mapwright.object_history (layer_id, op, ids, login)
      select tg_argv[0]::bigint, 'I', array_agg(svc_id), coalesce(current_setting('mapwright.login', true), '') from new_rows;
  end if;
  return null;
end $$;
