-- Trigger of a layer's table: notes which objects a statement touched, for its thinnings.
create or replace function note_points() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    insert into mapwright.point_touch (layer_id, ids) values (tg_argv[0]::bigint, null);
  elsif tg_op = 'DELETE' then
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(svc_id) from old_rows having count(*) > 0;
  elsif tg_op = 'INSERT' then
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(svc_id) from new_rows having count(*) > 0;
  elsif exists (select from mapwright.thinning where layer_id = tg_argv[0]::bigint and columns <> '{}') then
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(svc_id)
      from (select svc_id from old_rows union select svc_id from new_rows) both_rows having count(*) > 0;
  else
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(coalesce(o.svc_id, n.svc_id))
      from old_rows o full join new_rows n using (svc_id)
      where o.geom_3857 is distinct from n.geom_3857 having count(*) > 0;
  end if;
  return null;
end $$;
