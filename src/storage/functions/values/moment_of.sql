-- The moment that a text names in ISO 8601, by the rules for saving an object.
create or replace function moment_of(t text) returns timestamptz language plpgsql stable parallel safe as $$
declare
  bare text := replace(btrim(t, E' \t\r\n'), ',', '.');
  moment timestamptz;
begin
  if bare !~ ('^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])'
      '([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?( ?([Zz]|[+-](0\d|1[0-5])(:?[0-5]\d)?))?)?$') then
    return null;
  end if;
  if substr(bare, 9, 2)::int
      > extract(day from (substr(bare, 1, 7) || '-01')::timestamp + interval '1 month - 1 day') then
    return null;
  end if;
  moment := bare::timestamptz;
  if moment < '0001-01-01 00:00:00Z' or moment > '9999-12-31 23:59:59.999999Z' then return null; end if;
  return moment;
end $$;
