-- Styles of all maps of the project may show a picture.
create or replace function pictures_changed() returns trigger language plpgsql set search_path from current as $$
begin
  update project set revision = revision + 1 where id in (select project_id from changed);
  return null;
end $$;

create or replace trigger pictures_inserted after insert on picture referencing new table as changed
  for each statement execute function pictures_changed();

create or replace trigger pictures_updated after update on picture referencing new table as changed
  for each statement execute function pictures_changed();

create or replace trigger pictures_deleted after delete on picture referencing old table as changed
  for each statement execute function pictures_changed();

-- Styles of all maps of the project may use a font.
create or replace trigger fonts_inserted after insert on font referencing new table as changed
  for each statement execute function pictures_changed();

create or replace trigger fonts_updated after update on font referencing new table as changed
  for each statement execute function pictures_changed();

create or replace trigger fonts_deleted after delete on font referencing old table as changed
  for each statement execute function pictures_changed();
