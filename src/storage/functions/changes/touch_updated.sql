-- Trigger of a layer's table: notes the boxes of the rows as they were and as they are.
create or replace function touch_updated() returns trigger language plpgsql as $$
declare
  n bigint;
  boxes double precision[];
begin
  select count(*), array_agg(v) into n, boxes
  from (select geom_3857 as g from old_rows union all select geom_3857 from new_rows) r
  left join lateral unnest(mapwright.box_numbers(g)) v on g is not null;
  if n > 0 then
    insert into mapwright.layer_touch (layer_id, area)
      values (tg_argv[0]::bigint, mapwright.condense_area(coalesce(boxes, '{}')));
  end if;
  return null;
end $$;
