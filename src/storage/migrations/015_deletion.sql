-- What is deleted is at once nowhere to be found, and then taken away in portions: to drop a layer's table takes some
-- twenty locks until the transaction ends, and the server has room for a limited number of them, for everybody together.

-- Deleted maps belong to this project until nothing is left of them, and so do deleted folders and layers, each in a map
-- of its own. No code of a project is like its code.
insert into project (id, code, hidden) overriding system value values (0, '(deleted)', true);

-- As before, for each statement and not for each element; an element that leaves a map changes that one too.
create function nodes_updated() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(map_id)
    from (select map_id from old_nodes union select map_id from new_nodes order by map_id) touched;
  return null;
end $$;
create or replace trigger node_changed after insert or delete on node for each row execute function node_changed();
create trigger nodes_updated after update on node referencing old table as old_nodes new table as new_nodes
  for each statement execute function nodes_updated();

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
