-- A value of a column of the type from_type as one of to_type; null when it cannot be one.
create or replace function convert_value(v jsonb, from_type text, to_type text) returns jsonb
language plpgsql stable parallel safe as $$
declare
  kind text := jsonb_typeof(v);
  t text := v #>> '{}';
  -- What a text says may count as a value of another type.
  spoken boolean := kind = 'string' and from_type in ('string', 'text', 'json');
begin
  if v is null or kind = 'null' then return null; end if;
  case to_type
    when 'string', 'text' then
      return to_jsonb(case when from_type = 'number' then coalesce(number_of(t)::text, t) else t end);
    when 'number' then
      if kind = 'boolean' then return to_jsonb(case when t = 'true' then 1 else 0 end); end if;
      if kind = 'number' or spoken then return to_jsonb(number_of(t)); end if;
    when 'bool' then
      if kind = 'boolean' then return v; end if;
      if kind = 'number' and number_of(t) = trunc(number_of(t)) then return to_jsonb(number_of(t) <> 0); end if;
      if spoken and lower(btrim(t)) in ('true', 't', 'yes', 'y', 'on', '1') then return 'true'; end if;
      if spoken and lower(btrim(t)) in ('false', 'f', 'no', 'n', 'off', '0') then return 'false'; end if;
    when 'datetime' then
      if spoken or from_type = 'datetime' then return to_jsonb(moment_text(moment_of(t))); end if;
    when 'json' then
      if from_type in ('string', 'text') then return json_of(t); end if;
      if from_type = 'file' then return json_of_file_ids(t); end if;
      return v;
    when 'file' then
      -- Only files have ids of files: a number could name somebody else's.
      if from_type = 'file' and t ~ '^\d{1,15}(,\d{1,15})*$' then return v; end if;
  end case;
  return null;
end $$;
