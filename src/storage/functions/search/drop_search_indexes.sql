-- A column that becomes another type leaves its indexes behind; the server makes those that it needs then.
create or replace function drop_search_indexes() returns trigger language plpgsql as $$
begin
  if new.type <> old.type or new.localized_value <> old.localized_value then
    execute format('drop index if exists layers.s%1$s_words, layers.s%1$s_exact', old.id);
  end if;
  return new;
end $$;

create or replace trigger drop_search_indexes before update of type, localized_value on layer_column
  for each row execute function drop_search_indexes();
