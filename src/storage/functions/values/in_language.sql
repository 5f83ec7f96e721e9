-- A value in one language of several.
create or replace function in_language(language text, v jsonb) returns jsonb language sql immutable parallel safe begin atomic
  select case when v is not null then jsonb_build_object(language, v) end;
end;
