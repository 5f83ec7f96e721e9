-- Takes a layer away with its objects; null when that was done. Else all of it is as it was: '' when somebody still reads
-- or writes objects, or the reason why it cannot be done.
create or replace function remove_layer(id_of_layer bigint) returns text language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
  kind "char" := (select relkind from pg_class where oid = to_regclass('layers.l' || id_of_layer));
begin
  -- What readers and writers take first comes first: a view before its table, a table before the layer's row.
  execute format('drop view if exists layers.%I', name || '_source');
  if kind = 'v' then
    execute format('drop view layers.%I', name);
  elsif kind = 'r' then
    execute format('lock table layers.%I in access exclusive mode', name);
  end if;
  delete from node where id = id_of_layer;
  return null;
exception
  when lock_not_available or deadlock_detected then return '';
  when others then return sqlerrm;
end $$;
