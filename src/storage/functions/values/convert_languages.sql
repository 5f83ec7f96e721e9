-- As convert_value, for each language.
create or replace function convert_languages(v jsonb, from_type text, to_type text) returns jsonb
language sql stable parallel safe begin atomic
  select jsonb_object_agg(key, converted)
  from (select key, convert_value(value, from_type, to_type) as converted
    from jsonb_each(case when jsonb_typeof(v) = 'object' then v end)) each_language
  where converted is not null;
end;
