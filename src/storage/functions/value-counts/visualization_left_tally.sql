-- A layer without a visualization needs none. Its triggers stay, as to drop them would wait for all readers; they do nothing.
create or replace function visualization_left_tally() returns trigger language plpgsql set search_path from current as $$
begin
  delete from visual_tally where layer_id = new.id;
  return null;
end $$;

create or replace trigger visualization_left_tally after update of visual_settings on node
  for each row when (old.visual_settings is not null and new.visual_settings is null)
  execute function visualization_left_tally();
