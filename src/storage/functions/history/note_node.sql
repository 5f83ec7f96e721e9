-- Trigger: notes what becomes of a folder or layer, but for its place among others (`nodes_updated`). The arguments are the columns
-- that count.
create or replace function note_node() returns trigger language plpgsql set search_path from current as $$
declare
  of_kind constant text := case new.type when 'folder' then 'folder' else 'layer' end;
  from_project int;
  to_project int;
  was jsonb;
  is_now jsonb;
begin
  select project_id into to_project from map where id = new.map_id;
  if tg_op = 'INSERT' then
    perform note_change(of_kind, new.id, new.code, to_project, new.map_id, new.id, 'c');
    return null;
  end if;
  if old.map_id = new.map_id then
    select jsonb_object_agg(key, value) into was from jsonb_each(to_jsonb(old)) where key = any(tg_argv);
    select jsonb_object_agg(key, value) into is_now from jsonb_each(to_jsonb(new)) where key = any(tg_argv);
    perform note_change(of_kind, new.id, old.code, to_project, new.map_id, new.id, 'u', was, is_now);
    return null;
  end if;
  -- Of a folder that goes or comes back with all that it holds, the folder.
  select project_id into from_project from map where id = old.map_id;
  if from_project > 0 and new.parent_id is null then
    -- The places that it has left in the publication and the search come back with it.
    delete from structure_history where transaction_id = pg_current_xact_id() and at = now() and kind = 'map' and item_id = old.map_id
      and op = 'u' and after - array['publication', 'search'] = '{}';
    perform note_change(of_kind, old.id, old.code, from_project, old.map_id, old.id, 'd');
  elsif to_project > 0 and old.parent_id is null then
    -- What was not in the bin has been filled before it is shown.
    perform note_change(of_kind, new.id, new.code, to_project, new.map_id, new.id, 
      (case from_project when -1 then 'r' else 'c' end)::"char");
  end if;
  return null;
end $$;

create or replace trigger note_made after insert on node for each row execute function note_node();
create or replace trigger note_changed after update of map_id, code, name, localized_name, names, selected, icon, json, css_style,
    render_type, style_mode, source, visual_settings, visual_custom_settings, vector_settings on node for each row
  when ((old.map_id, old.code, old.name, old.localized_name, old.names, old.selected, old.icon, old.json, old.css_style,
      old.render_type, old.style_mode, old.source, old.visual_settings, old.visual_custom_settings, old.vector_settings)
    is distinct from (new.map_id, new.code, new.name, new.localized_name, new.names, new.selected, new.icon, new.json, new.css_style,
      new.render_type, new.style_mode, new.source, new.visual_settings, new.visual_custom_settings, new.vector_settings))
  execute function note_node('code', 'name', 'localized_name', 'names', 'selected', 'icon', 'json', 'css_style', 'render_type',
    'style_mode', 'source', 'visual_settings', 'visual_custom_settings', 'vector_settings');
