-- Trigger: each change of a map has the next revision.
create or replace function map_changed() returns trigger language plpgsql set search_path from current as $$
begin
  new.revision := next_revision(old.revision);
  return new;
end $$;

create or replace trigger map_revision before update on map for each row execute function map_changed();
