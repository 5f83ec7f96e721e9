-- What a changed column says of its objects is written without triggers.
create or replace function column_retyped() returns trigger language plpgsql set search_path from current as $$
begin
  perform drop_thinning(layer_id, number) from thinning where layer_id = old.layer_id and 'c' || old.id = any(columns);
  return null;
end $$;

create or replace trigger column_retyped after delete or update of type, localized_value on layer_column
  for each row execute function column_retyped();
