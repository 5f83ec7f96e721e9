-- The ids of files that a text holds, as JSON.
create or replace function json_of_file_ids(t text) returns jsonb language plpgsql immutable parallel safe as $$
begin
  if t !~ '^\d{1,15}(,\d{1,15})*$' then return null; end if;
  return to_jsonb(string_to_array(t, ',')::bigint[]);
end $$;
