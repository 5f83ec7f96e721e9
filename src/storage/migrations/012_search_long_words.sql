-- As before, but for words that are too long for an index: PostgreSQL refuses a term of some 2700 bytes, and with it the
-- object. Trigrams find them; terms of whole words only tell which words are frequent, and none so long is.
create or replace function search_terms(folded text) returns text[]
language plpgsql immutable strict parallel safe cost 1000 as $$
declare
  words text[] := array_remove(string_to_array(translate(folded, e'\n', ' '), ' '), '');
  terms text[] := words;
  -- Length of the word before; 0 = none.
  before int := 0;
  size int;
begin
  if octet_length(folded) > 100 then
    terms := array(select word from unnest(words) word where octet_length(word) <= 100);
  end if;
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
