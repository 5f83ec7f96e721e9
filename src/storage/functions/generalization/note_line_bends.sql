-- Found whenever the sums of what is too small are made or looked at anew.
create or replace function note_line_bends() returns trigger language plpgsql set search_path from current as $$
begin
  if cardinality(new.bands) > 0 then new.line_bends := mean_bends('layers', 'l' || new.id); end if;
  return new;
end $$;

create or replace trigger layer_line_bends before update of gathered on layer
  for each row when (new.gathered is not null) execute function note_line_bends();
