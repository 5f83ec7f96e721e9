-- For each statement and not for each element, of which many may change at once; an element that leaves a map changes that one
-- too.
create or replace function nodes_updated() returns trigger language plpgsql set search_path from current as $$
declare
  placed constant bigint := nullif(current_setting('mapwright.placed', true), '');
begin
  perform bump_map(map_id)
    from (select map_id from old_nodes union select map_id from new_nodes order by map_id) touched;
  -- Of those that are numbered anew because one is placed among them, that one is noted. Older versions do not say which it is.
  perform note_change(case n.type when 'folder' then 'folder' else 'layer' end, n.id, n.code, m.project_id, m.id, n.id, 'u',
      jsonb_build_object('parent_id', o.parent_id, 'sort', o.sort), jsonb_build_object('parent_id', n.parent_id, 'sort', n.sort))
    from old_nodes o join new_nodes n using (id) join map m on m.id = n.map_id and m.id = o.map_id
    where o.parent_id is distinct from n.parent_id or o.sort <> n.sort and n.id = coalesce(placed, n.id)
    order by exists (
      select from structure_history h where h.transaction_id = pg_current_xact_id() and h.at = now() and h.item_id = n.id
        and h.kind in ('folder', 'layer')) desc, abs(n.sort - o.sort) desc, n.id limit 1;
  return null;
end $$;

create or replace trigger nodes_updated after update on node referencing old table as old_nodes new table as new_nodes
  for each statement execute function nodes_updated();
