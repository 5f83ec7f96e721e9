-- Trigger: what leaves the bin and was not restored is to be removed.
create or replace function bin_entry_gone() returns trigger language plpgsql set search_path from current as $$
begin
  update map set project_id = 0 where id = old.holder_id and project_id = -1;
  if found then
    -- What came from it cannot be restored without it, and it cannot be removed before what was made from it.
    delete from bin b where b.id <> old.id and (b.map_id = old.holder_id or b.holder_id in (
      select made.map_id from node source join layer l on l.source_id = source.id join node made on made.id = l.id
      where source.map_id = old.holder_id));
  end if;
  delete from layer_column where old.kind = 'column' and id = old.item_id and layer_id = 0;
  return null;
end $$;

create or replace trigger bin_entry_gone after delete on bin for each row execute function bin_entry_gone();
