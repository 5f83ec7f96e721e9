-- Layers with so many points that they ought to be thinned, and that are not: they have grown by edits.
create or replace function unthinned_layers() returns setof bigint language sql stable set search_path from current as $$
  select l.id from layer l join pg_class c on c.oid = to_regclass('layers.l' || l.id) and c.relkind = 'r'
  where l.geometry_kind = 'Point' and c.reltuples >= 20000 and not exists (select from thinning t where t.layer_id = l.id)
$$;
