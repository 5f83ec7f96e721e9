-- Trigger of a layer's table: notes the boxes of the rows that a statement deleted, and the rows.
create or replace function touch_deleted() returns trigger language plpgsql as $$
declare
  n bigint;
  boxes double precision[];
begin
  select count(*), array_agg(v) into n, boxes
  from (select geom_3857 as g from old_rows) r
  left join lateral unnest(mapwright.box_numbers(g)) v on g is not null;
  if n = 0 then return null; end if;
  insert into mapwright.layer_touch (layer_id, area)
    values (tg_argv[0]::bigint, mapwright.condense_area(coalesce(boxes, '{}')));
  if current_setting('mapwright.history', true) = 'off' then return null; end if;
  execute format($q$
    insert into mapwright.object_history (layer_id, object_id, op, before, login)
    select %L, svc_id, 'd', to_jsonb((select ob from (select %s) ob)) || jsonb_build_object('geom', o.geom::text), %L
    from old_rows o$q$,
    tg_argv[0], mapwright.value_columns(tg_relid, 'o'), coalesce(current_setting('mapwright.login', true), ''));
  return null;
end $$;
