-- Trigger: notes what becomes of a layer's column. Layer 0 is that of deleted ones; columns of a layer that is made, or restored, in
-- the same transaction go with it. The arguments are the columns that count.
create or replace function note_column() returns trigger language plpgsql set search_path from current as $$
declare
  of_layer constant bigint := case when tg_op = 'INSERT' then new.layer_id else coalesce(nullif(old.layer_id, 0), new.layer_id) end;
  of_map bigint;
  of_project int;
  was jsonb;
  is_now jsonb;
begin
  select m.id, m.project_id into of_map, of_project from node n join map m on m.id = n.map_id where n.id = of_layer;
  if coalesce(of_project, 0) <= 0 or exists (
    select from structure_history where transaction_id = pg_current_xact_id() and at = now() and kind = 'layer'
      and item_id = of_layer and op <> 'u') then return null;
  end if;
  if tg_op = 'INSERT' then
    perform note_change('column', new.id, new.code, of_project, of_map, of_layer, 'c');
  elsif tg_op = 'DELETE' or new.layer_id = 0 then
    perform note_change('column', old.id, old.code, of_project, of_map, of_layer, 'd');
  elsif old.layer_id = 0 then
    perform note_change('column', new.id, new.code, of_project, of_map, of_layer, 'r');
  else
    select jsonb_object_agg(key, value) into was from jsonb_each(to_jsonb(old)) where key = any(tg_argv);
    select jsonb_object_agg(key, value) into is_now from jsonb_each(to_jsonb(new)) where key = any(tg_argv);
    perform note_change('column', new.id, old.code, of_project, of_map, of_layer, 'u', was, is_now);
  end if;
  return null;
end $$;

create or replace trigger note_made after insert on layer_column for each row when (new.layer_id <> 0) execute function note_column();
create or replace trigger note_gone after delete on layer_column for each row when (old.layer_id <> 0) execute function note_column();
create or replace trigger note_changed after update of layer_id, code, name, localized_name, names, localized_value, type, required,
    parent_id, format on layer_column for each row
  when ((old.layer_id, old.code, old.name, old.localized_name, old.names, old.localized_value, old.type, old.required, old.parent_id,
      old.format)
    is distinct from (new.layer_id, new.code, new.name, new.localized_name, new.names, new.localized_value, new.type, new.required,
      new.parent_id, new.format))
  execute function note_column('code', 'name', 'localized_name', 'names', 'localized_value', 'type', 'required', 'parent_id', 'format');
