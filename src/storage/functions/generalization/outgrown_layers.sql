-- Layers that have become much larger or smaller since somebody looked (note_crowds), or that have grown by edits and have no
-- bands, or none of what they leave out (generalize_grown).
create or replace function outgrown_layers() returns setof bigint language sql stable set search_path from current as $$
  select l.id from layer l join pg_class c on c.oid = to_regclass('layers.l' || l.id) and c.relkind = 'r'
  where c.reltuples >= 20000 and (l.crowds_rows is null or not l.crowds_rows between c.reltuples / 2 and 2 * c.reltuples)
    or c.reltuples < 20000 and l.crowds is not null
    or cardinality(l.bands) > 0 and l.gathered is null and c.reltuples <= most_generalized()
$$;
