-- Another type of a column, or none: its expression no longer fits.
create or replace function column_left_tally() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'DELETE' or new.type <> old.type or new.localized_value <> old.localized_value then
    delete from visual_tally where column_id = old.id;
    execute format('drop index if exists layers.%I', 'tally_' || old.id);
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;

create or replace trigger column_left_tally before delete or update of type, localized_value on layer_column
  for each row execute function column_left_tally();
