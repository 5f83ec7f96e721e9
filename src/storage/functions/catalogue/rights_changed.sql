-- Trigger: changed rights change the project.
create or replace function rights_changed() returns trigger language plpgsql set search_path from current as $$
begin
  update project set revision = revision + 1 where id = coalesce(new.project_id, old.project_id);
  return null;
end $$;

create or replace trigger membership_changed after insert or update or delete on membership
  for each row execute function rights_changed();

create or replace trigger grant_changed after insert or update or delete on access_grant
  for each row execute function rights_changed();

create or replace trigger key_changed after insert or delete or update of hash, ends_at on access_key
  for each row execute function rights_changed();
