-- Trigger: a layer that goes takes its runs with it.
create or replace function drop_runs() returns trigger language plpgsql set search_path from current as $$
begin
  execute format('drop table if exists layers.%I', 'l' || old.id || '_c');
  return null;
end $$;

create or replace trigger drop_runs after delete on layer for each row execute function drop_runs();
