-- Notes what a transaction does to a map, folder, layer or column: one entry of each for all that it does to it.
-- was, is_now: members before and after; of a change those that differ are kept. did: as in structure_history.
create or replace function note_change(of_kind text, of_item bigint, its_code text, of_project int, of_map bigint, of_node bigint,
  did "char", was jsonb default '{}', is_now jsonb default '{}') returns void language plpgsql set search_path from current as $$
declare
  known structure_history;
begin
  if current_setting('mapwright.history', true) = 'off' then return; end if;
  select * into known from structure_history
    where transaction_id = pg_current_xact_id() and at = now() and kind = of_kind and item_id = of_item;
  if did = 'u' then
    if known.op <> 'u' then return; end if;
    was := was || coalesce(known.before, '{}');
    select coalesce(jsonb_object_agg(b.key, b.value), '{}'), coalesce(jsonb_object_agg(b.key, a.value), '{}') into was, is_now
      from jsonb_each(was) b join jsonb_each(coalesce(known.after, '{}') || is_now) a using (key)
      where a.value is distinct from b.value;
    -- Places in the publication and the search go and come with folders and layers.
    if was = '{}' or of_kind = 'map' and was - array['publication', 'search'] = '{}' and exists (
      select from structure_history where transaction_id = pg_current_xact_id() and at = now() and kind in ('folder', 'layer')
        and map_id = of_map and op in ('d', 'r')) then
      delete from structure_history where id = known.id;
      return;
    end if;
  elsif known.op = 'c' then
    -- A layer that is filled before it is shown.
    if did = 'd' then delete from structure_history where id = known.id; end if;
    return;
  end if;
  if known.id is not null then
    update structure_history set op = did, before = was, after = is_now where id = known.id;
    return;
  end if;
  insert into structure_history (project_id, map_id, node_id, kind, item_id, map_code, node_code, code, op, before, after, login)
    select p.id, of_map, of_node, of_kind, of_item,
      case of_kind when 'map' then its_code else (select code from map where id = of_map) end,
      case of_kind when 'column' then (select code from node where id = of_node) when 'map' then null else its_code end,
      its_code, did, was, is_now, coalesce(current_setting('mapwright.login', true), '')
    from project p where p.id = of_project and p.id > 0 and not p.hidden;
end $$;
