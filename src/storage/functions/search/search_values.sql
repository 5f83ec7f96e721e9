-- The beginnings of what search_fold makes of a value in several languages, for finding one of them as a whole.
create or replace function search_values(v jsonb) returns text[] language plpgsql immutable strict parallel safe cost 1000 as $$
begin
  if jsonb_typeof(v) <> 'object' then return '{}'; end if;
  return (select coalesce(array_agg(left(mapwright.search_fold(value), 100)), '{}') from jsonb_each_text(v)
    where value <> '');
end $$;

create or replace function search_values(v anyelement) returns text[] language plpgsql immutable strict parallel safe as $$
begin
  return '{}';
end $$;
