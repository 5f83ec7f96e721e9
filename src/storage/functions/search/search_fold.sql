-- A text without what search is blind to: case, accents, ё for е, forms of one letter (final sigma, full width), kinds of white
-- space, points and marks of Hebrew and Arabic, characters that nobody sees (direction, joiners, forms of emoji), combining
-- accents without a letter of their own. Vowel signs of Indian, Thai, Lao, Burmese and Khmer script stay with their letters.
-- Other signs stand apart as words of their own; so do the characters of scripts that put no space between words, since the index
-- knows words by their beginnings. One space stands at both ends.
--
-- Only the first 4000 characters count, which bounds the work. Immutable as long as the rules of unaccent stay, which PostgreSQL
-- cannot know and an index needs. PL/pgSQL, because an SQL function that calls the stable unaccent is not inlined and takes twice
-- as long. When it changes, the indexes that were made with it have to be dropped: the server makes those that it needs.
do $do$
declare
  extensions text := (select quote_ident(nspname) from pg_extension join pg_namespace n on n.oid = extnamespace
    where extname = 'unaccent');
begin
  execute replace($create$
    create or replace function search_fold(t text) returns text
    language plpgsql immutable strict parallel safe cost 400 as $$
    declare
      f text := left(t, 4000);
    begin
      if octet_length(f) = length(f) then
        f := lower(f);
      else
        if f is not nfkc normalized then f := normalize(f, nfkc); end if;
        -- A soft hyphen is nothing, which unaccent takes for a hyphen.
        f := lower(extensions.unaccent('extensions.unaccent'::regdictionary, replace(f, u&'\00ad', '')));
        f := replace(replace(f, 'ё', 'е'), 'ς', 'σ');
      end if;
      -- Most names are letters, digits and spaces alone. What the classes name: letters, their marks, other marks,
      -- scripts without spaces.
      if f ~ '[^[:alnum:] ]|[\u0591-\u05c7\u0640\u064b-\u065f\u0670\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]' then
        f := regexp_replace(f, '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]', '', 'g');
        f := translate(f, e'\t\n\x0b\f\r\u0085\u2028\u2029', '        ');
        f := regexp_replace(f, '([^[:alnum:] \u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3]|[\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff])', ' \1 ', 'g');
      end if;
      while strpos(f, '  ') > 0 loop
        f := replace(f, '  ', ' ');
      end loop;
      return ' ' || btrim(f) || ' ';
    end $$
  $create$, 'extensions', extensions);
end $do$;

-- A value in several languages: each folded, on a line of its own.
create or replace function search_fold(v jsonb) returns text language plpgsql immutable strict parallel safe cost 1000 as $$
begin
  if jsonb_typeof(v) <> 'object' then return mapwright.search_fold(v #>> '{}'); end if;
  return (select e'\n' || string_agg(mapwright.search_fold(value), e'\n' order by key) || e'\n'
    from jsonb_each_text(v) where value <> '');
end $$;

-- Numbers, and whatever type a searched column is given while its indexes still stand.
create or replace function search_fold(v anyelement) returns text language plpgsql immutable strict parallel safe cost 400 as $$
begin
  return mapwright.search_fold(v::text);
end $$;
