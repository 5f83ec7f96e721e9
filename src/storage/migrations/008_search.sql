-- Search: what every node compares instead of the texts themselves, and which columns of a map are searched.

-- Which columns of which layers are searched for objects, in order; a map without rows has the default set.
create table search_setting (
  map_id bigint not null references map on delete cascade,
  place int not null,
  layer_id bigint not null references layer on delete cascade,
  search_column_id int not null references layer_column on delete cascade,
  name_column_id int not null references layer_column on delete cascade,
  priority double precision,
  primary key (map_id, place)
);
create index search_setting_layer on search_setting (layer_id);
create index search_setting_search_column on search_setting (search_column_id);
create index search_setting_name_column on search_setting (name_column_id);

-- A text without what search is blind to: case, accents, ё for е, forms of one letter (final sigma, full width), kinds
-- of white space. Signs stand apart as words of their own; so do the characters of scripts that put no space between
-- words, since the index knows words by their beginnings. One space stands at both ends.
--
-- Only the first 4000 characters count, which bounds the work. Immutable as long as the rules of unaccent stay, which
-- PostgreSQL cannot know and an index needs. PL/pgSQL, because an SQL function that calls the stable unaccent is not
-- inlined and takes twice as long.
do $do$
declare
  extensions text := (select quote_ident(nspname) from pg_extension join pg_namespace n on n.oid = extnamespace
    where extname = 'unaccent');
begin
  execute replace($create$
    create function search_fold(t text) returns text language plpgsql immutable strict parallel safe cost 400 as $$
    declare
      f text := left(t, 4000);
    begin
      if octet_length(f) = length(f) then
        f := lower(f);
      else
        f := lower(extensions.unaccent('extensions.unaccent'::regdictionary, normalize(f, nfkc)));
        f := replace(replace(f, 'ё', 'е'), 'ς', 'σ');
      end if;
      f := translate(f, e'\t\n\v\f\r\u0085\u2028\u2029', '        ');
      f := regexp_replace(f, '([^[:alnum:] ]|[\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff])', ' \1 ', 'g');
      while strpos(f, '  ') > 0 loop
        f := replace(f, '  ', ' ');
      end loop;
      return ' ' || btrim(f) || ' ';
    end $$
  $create$, 'extensions', extensions);
end $do$;

-- A value in several languages: each folded, on a line of its own.
create function search_fold(v jsonb) returns text language plpgsql immutable strict parallel safe cost 1000 as $$
begin
  if jsonb_typeof(v) <> 'object' then return mapwright.search_fold(v #>> '{}'); end if;
  return (select e'\n' || string_agg(mapwright.search_fold(value), e'\n' order by key) || e'\n'
    from jsonb_each_text(v) where value <> '');
end $$;

-- Numbers, and whatever type a searched column is given while its indexes still stand.
create function search_fold(v anyelement) returns text language plpgsql immutable strict parallel safe cost 400 as $$
begin
  return mapwright.search_fold(v::text);
end $$;

-- The beginnings of what search_fold makes of a value in several languages, for finding one of them as a whole.
create function search_values(v jsonb) returns text[] language plpgsql immutable strict parallel safe cost 1000 as $$
begin
  if jsonb_typeof(v) <> 'object' then return '{}'; end if;
  return (select coalesce(array_agg(left(mapwright.search_fold(value), 100)), '{}') from jsonb_each_text(v)
    where value <> '');
end $$;
create function search_values(v anyelement) returns text[] language plpgsql immutable strict parallel safe as $$
begin
  return '{}';
end $$;

-- A column that becomes another type leaves its indexes behind; the server makes those that it needs then.
create function drop_search_indexes() returns trigger language plpgsql as $$
begin
  if new.type <> old.type or new.localized_value <> old.localized_value then
    execute format('drop index if exists layers.s%1$s_words, layers.s%1$s_exact', old.id);
  end if;
  return new;
end $$;
create trigger drop_search_indexes before update of type, localized_value on layer_column
  for each row execute function drop_search_indexes();
