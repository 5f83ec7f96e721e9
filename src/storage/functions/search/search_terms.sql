-- What trigrams cannot tell of a folded text: its words as wholes, signs and characters of scripts without spaces among them, and
-- what stands beside a word of one character: the other's last (or first) character, and its last (or first) three. So
-- '100 % (north)' has "100", "%", "(", "north", ")", "0 %", "100 %", "% (", "( n", "( nor", "h )", "rth )".
--
-- Words of more than 100 bytes are left out: PostgreSQL refuses an index's term of some 2700 bytes, and with it the object.
-- Trigrams find them; terms of whole words only tell which words are frequent, and none so long is.
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
