-- Trigger: announces that a map has changed.
create or replace function map_announce() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_notify('mapwright', 'M ' || coalesce(new.id, old.id));
  return null;
end $$;

create or replace trigger map_announce after insert or update or delete on map for each row execute function map_announce();
