-- JSON that a text holds, else the text as a JSON string. As before, but exponents are looked for outside of strings only, and
-- those of any double are taken. (Longer ones are not parsed: a few bytes of them become megabytes.)
create or replace function json_of(t text) returns jsonb language plpgsql immutable parallel safe as $$
begin
  if btrim(t) = '' then return null; end if;
  if t ~ '^\s*([\[{"]|-?\d|true|false)' and (t !~ '[eE][+-]?\d{4}'
    or regexp_replace(t, '"([^"\\]|\\.)*"', '', 'g') !~ '[eE][+-]?\d{4}') then
    begin
      return t::jsonb;
    exception when others then null;
    end;
  end if;
  return to_jsonb(t);
end $$;
