-- What is deleted is at once nowhere to be found, and then taken away in portions: to drop a layer's table takes some
-- twenty locks until the transaction ends, and the server has room for a limited number of them, for everybody together.

-- Deleted maps belong to this project until nothing is left of them, and so do deleted folders and layers, each in a map
-- of its own. No code of a project is like its code.
insert into project (id, code, hidden) overriding system value values (0, '(deleted)', true);

-- As before; an element that leaves a map changes that one too.
create or replace function node_changed() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(coalesce(new.map_id, old.map_id));
  if tg_op = 'UPDATE' then
    if old.map_id <> new.map_id then perform bump_map(old.map_id); end if;
  end if;
  return null;
end $$;

-- Takes a layer away with its objects; null when that was done. Else all of it is as it was: '' when somebody still reads
-- or writes objects, or the reason why it cannot be done.
create function remove_layer(id_of_layer bigint) returns text language plpgsql set search_path from current as $$
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
