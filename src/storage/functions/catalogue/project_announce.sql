-- Trigger: announces that a project has changed.
create or replace function project_announce() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_notify('mapwright', 'P ' || coalesce(new.id, old.id));
  return null;
end $$;

create or replace trigger project_announce after insert or update or delete on project
  for each row execute function project_announce();
