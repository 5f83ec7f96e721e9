-- JSON that a text holds, else the text as a JSON string. (Exponents beyond those of doubles are not parsed: a few bytes of them
-- become megabytes. What stands in strings is no exponent.)
create or replace function json_of(t text) returns jsonb language plpgsql immutable parallel safe as $$
declare
  too_large constant text := '[eE][+-]?0*([1-9]\d{3}|[4-9]\d{2}|3[1-9]\d|309)';
begin
  if btrim(t) = '' then return null; end if;
  if t ~ '^\s*([\[{"]|-?\d|true|false)' and (t !~ too_large
    or regexp_replace(t, '"([^"\\]|\\.)*"', '', 'g') !~ too_large) then
    begin
      return t::jsonb;
    exception when others then null;
    end;
  end if;
  return to_jsonb(t);
end $$;
