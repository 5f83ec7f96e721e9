-- What a reader sees who has no language of his own: the main language's value, else any.
create or replace function main_value(v jsonb, main text) returns jsonb language sql immutable parallel safe begin atomic
  select value from jsonb_each(case when jsonb_typeof(v) = 'object' then v end)
  where value not in ('null', '""') order by key <> main, key limit 1;
end;
