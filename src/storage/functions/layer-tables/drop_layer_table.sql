-- Trigger: a layer that goes takes its tables with it, and the views that depend on them (of layers that go in the same
-- statement).
create or replace function drop_layer_table() returns trigger language plpgsql set search_path from current as $$
declare
  band int;
begin
  execute format('drop view if exists layers.%I cascade', 'l' || old.id || '_source');
  if exists (select 1 from pg_class where oid = to_regclass('layers.l' || old.id) and relkind = 'v') then
    execute format('drop view layers.%I cascade', 'l' || old.id);
    return null;
  end if;
  execute format('drop table if exists layers.%I cascade', 'l' || old.id);
  foreach band in array old.bands loop
    execute format('drop table if exists layers.%I', 'l' || old.id || '_z' || band);
    execute format('drop table if exists layers.%I', 'l' || old.id || '_g' || band);
  end loop;
  perform drop_thinning(old.id, null);
  return null;
end $$;

create or replace trigger drop_layer_table after delete on layer for each row execute function drop_layer_table();
