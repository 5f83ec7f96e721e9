-- after functions
-- The server makes the indexes that it needs anew, with the fold of today.
do $$
declare
  index regclass;
begin
  for index in
    select oid::regclass from pg_class
    where relnamespace = 'layers'::regnamespace and relkind = 'i' and relname ~ '^s[0-9]+_(words|exact)$'
  loop
    execute format('drop index %s', index);
  end loop;
end $$;
