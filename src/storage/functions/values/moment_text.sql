-- ISO 8601 text as the API shows it.
create or replace function moment_text(moment timestamptz) returns text language sql stable parallel safe begin atomic
  select replace(to_json(moment) #>> '{}', '+00:00', 'Z');
end;
