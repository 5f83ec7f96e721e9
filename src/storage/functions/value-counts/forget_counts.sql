-- Trigger: the counts of a tally go with it.
create or replace function forget_counts() returns trigger language plpgsql set search_path from current as $$
begin
  delete from visual_tally_count where tally_id = old.id;
  return null;
end $$;

create or replace trigger forget_counts after delete on visual_tally for each row execute function forget_counts();
