-- Drops what is no longer read, and what broken makings have left. The caller is the only one that makes thinnings. The rows of
-- the maps are taken first. What is held of one map is dropped another time: it is in no other's way.
create or replace function sweep_thinnings() returns void language plpgsql set search_path from current as $$
declare
  left_over text;
  free bigint[];
begin
  select array_agg(id) into free from (
    select id from map where id in (
        select n.map_id from thinning t join node n on n.id = t.layer_id
        where t.building or t.retired_at < now() - interval '1 minute')
      order by id for no key update skip locked) found;
  perform drop_thinning(t.layer_id, t.number) from thinning t left join node n on n.id = t.layer_id
    where (n.id is null or n.map_id = any(free)) and (t.building or t.retired_at < now() - interval '1 minute');
  for left_over in
    select c.relname from pg_class c
    where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname ~ '^l[0-9]+_p[0-9]+_z[0-9]+$'
      and not exists (select from thinning t where c.relname ~ format('^l%s_p%s_', t.layer_id, t.number)
        and substring(c.relname from '[0-9]+$')::int = any(t.bands))
  loop
    execute format('drop table layers.%I', left_over);
  end loop;
end $$;
