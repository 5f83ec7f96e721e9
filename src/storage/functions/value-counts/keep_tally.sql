-- Arguments: id of the tally, SQL of the bucket of a row. Without its tally nothing is counted; an expression that fails ends
-- the tally, never the edit.
create or replace function keep_tally() returns trigger language plpgsql set search_path from current
  set timezone = 'UTC' set datestyle = 'ISO' set extra_float_digits = 1 as $$
declare
  tally bigint := tg_argv[0];
  counted text := case tg_op
    when 'INSERT' then format('select %s b, 1 d from new_rows', tg_argv[1])
    when 'DELETE' then format('select %s b, -1 d from old_rows', tg_argv[1])
    else format('select %s b, 1 d from new_rows union all select %s, -1 from old_rows', tg_argv[1], tg_argv[1]) end;
begin
  execute format('insert into visual_tally_count select $1, b, sum(d) from (%s) changed
    where exists (select from visual_tally where id = $1) group by b having sum(d) <> 0', counted) using tally;
  return null;
exception when others then
  delete from visual_tally where id = tally;
  return null;
end $$;
