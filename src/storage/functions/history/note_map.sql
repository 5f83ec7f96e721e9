-- Trigger: notes what becomes of a map. The arguments are the columns that count.
create or replace function note_map() returns trigger language plpgsql set search_path from current as $$
declare
  was jsonb;
  is_now jsonb;
begin
  if tg_op = 'INSERT' then
    perform note_change('map', new.id, new.code, new.project_id, new.id, null, 'c');
  elsif old.project_id > 0 and new.project_id <= 0 then
    perform note_change('map', old.id, old.code, old.project_id, old.id, null, 'd');
  elsif old.project_id <= 0 and new.project_id > 0 then
    perform note_change('map', new.id, new.code, new.project_id, new.id, null, 'r');
  else
    select jsonb_object_agg(key, value) into was from jsonb_each(to_jsonb(old)) where key = any(tg_argv);
    select jsonb_object_agg(key, value) into is_now from jsonb_each(to_jsonb(new)) where key = any(tg_argv);
    perform note_change('map', new.id, old.code, new.project_id, new.id, null, 'u', was, is_now);
  end if;
  return null;
end $$;

create or replace trigger note_made after insert on map for each row execute function note_map();
-- Most updates give a map its next revision and nothing else: of them not even the columns are compared, which may be large.
create or replace trigger note_changed after update of project_id, code, name, localized_name, names, css_style, group_layers,
    has_publication, json, comment, start_view, base_map, publication on map for each row
  when ((old.project_id, old.code, old.name, old.localized_name, old.names, old.css_style, old.group_layers, old.has_publication,
      old.json, old.comment, old.start_view, old.base_map, old.publication)
    is distinct from (new.project_id, new.code, new.name, new.localized_name, new.names, new.css_style, new.group_layers,
      new.has_publication, new.json, new.comment, new.start_view, new.base_map, new.publication))
  execute function note_map('code', 'name', 'localized_name', 'names', 'css_style', 'group_layers', 'has_publication', 'json',
    'comment', 'start_view', 'base_map', 'publication');
