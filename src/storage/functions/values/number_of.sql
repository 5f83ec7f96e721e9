-- A finite number that a text holds. (The numeric type has room for every text of this pattern.)
create or replace function number_of(t text) returns double precision language plpgsql immutable parallel safe as $$
declare
  bare text := btrim(t, E' \t\r\n');
  n numeric;
begin
  if length(bare) > 400 or bare !~ '^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$' then return null; end if;
  n := bare::numeric;
  if n <> 0 and (abs(n) > 1.7976931348623157e308 or abs(n) < 2.2250738585072014e-308) then return null; end if;
  return bare::double precision;
end $$;
