-- Search: a fold that knows more of what searches are blind to, and terms beside trigrams in the index on words.

-- As before, and besides: points and marks of Hebrew and Arabic, characters that nobody sees (direction, joiners, forms
-- of emoji) and combining accents without a letter of their own do not count; vowel signs of Indian, Thai, Lao, Burmese
-- and Khmer script stay with their letters. Vertical tabs are white space, and the letter v is none.
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

-- What trigrams cannot tell of a folded text: its words as wholes, signs and characters of scripts without spaces among
-- them, and what stands beside a word of one character: the other's last (or first) character, and its last (or first)
-- three. So '100 % (north)' has "100", "%", "(", "north", ")", "0 %", "100 %", "% (", "( n", "( nor", "h )", "rth )".
create function search_terms(folded text) returns text[]
language plpgsql immutable strict parallel safe cost 1000 as $$
declare
  words text[] := array_remove(string_to_array(translate(folded, e'\n', ' '), ' '), '');
  terms text[] := words;
  -- Length of the word before; 0 = none.
  before int := 0;
  size int;
begin
  for i in 1..cardinality(words) loop
    size := length(words[i]);
    if before > 0 and (before = 1 or size = 1) then
      terms := terms || (right(words[i - 1], 1) || ' ' || left(words[i], 1));
      if before > 2 then
        terms := terms || (right(words[i - 1], 3) || ' ' || words[i]);
      elsif size > 2 then
        terms := terms || (words[i - 1] || ' ' || left(words[i], 3));
      end if;
    end if;
    before := size;
  end loop;
  return terms;
end $$;

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
