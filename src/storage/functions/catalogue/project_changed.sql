-- Trigger: each change of a project has the next revision.
create or replace function project_changed() returns trigger language plpgsql set search_path from current as $$
begin
  new.revision := next_revision(old.revision);
  return new;
end $$;

create or replace trigger project_revision before update on project for each row execute function project_changed();
