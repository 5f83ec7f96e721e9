-- SQL list of the columns that are keys, of a layer's table of that alias: geometry as text, and null::text of none.
create or replace function named_columns(names jsonb, alias text) returns text language sql immutable begin atomic
  select coalesce(string_agg(case when name = 'geom' then alias || '.geom::text as geom' else alias || '.' || quote_ident(name) end, ', '),
    'null::text as none') from jsonb_object_keys(names) name;
end;
