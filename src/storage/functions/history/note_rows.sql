-- Trigger of rows that are a member of what they belong to: the constraints of a layer, the search settings of a map. Arguments: the
-- column that names it, that which orders the rows, and the member's name.
create or replace function note_rows() returns trigger language plpgsql set search_path from current as $$
declare
  owner bigint;
  gone jsonb := '[]';
  added jsonb := '[]';
  was jsonb;
  is_now jsonb;
  of_map bigint;
  of_project int;
  its_code text;
begin
  if tg_op <> 'INSERT' then select coalesce(jsonb_agg(to_jsonb(o)), '[]') into gone from old_rows o; end if;
  if tg_op <> 'DELETE' then select coalesce(jsonb_agg(to_jsonb(n)), '[]') into added from new_rows n; end if;
  for owner in select distinct (r ->> tg_argv[0])::bigint from jsonb_array_elements(gone || added) r loop
    if tg_argv[0] = 'map_id' then
      select id, project_id, code into of_map, of_project, its_code from map where id = owner;
    else
      select m.id, m.project_id, n.code into of_map, of_project, its_code from node n join map m on m.id = n.map_id where n.id = owner;
    end if;
    continue when coalesce(of_project, 0) <= 0;
    execute format('select coalesce(jsonb_agg(to_jsonb(r)), ''[]'') from %I r where %I = $1', tg_table_name, tg_argv[0])
      into is_now using owner;
    select coalesce(jsonb_agg(r - array['id', tg_argv[0]] order by (r ->> tg_argv[1])::float8), '[]') into was from (
      select r from jsonb_array_elements(is_now) r where r not in (select a from jsonb_array_elements(added) a)
      union all select r from jsonb_array_elements(gone) r where (r ->> tg_argv[0])::bigint = owner) rows (r);
    select coalesce(jsonb_agg(r - array['id', tg_argv[0]] order by (r ->> tg_argv[1])::float8), '[]') into is_now
      from jsonb_array_elements(is_now) r;
    perform note_change(case tg_argv[0] when 'map_id' then 'map' else 'layer' end, owner, its_code, of_project, of_map,
      case tg_argv[0] when 'map_id' then null else owner end, 'u', jsonb_build_object(tg_argv[2], was),
      jsonb_build_object(tg_argv[2], is_now));
  end loop;
  return null;
end $$;

create or replace trigger note_added after insert on column_constraint referencing new table as new_rows
  for each statement execute function note_rows('layer_id', 'sort', 'constraints');
create or replace trigger note_gone after delete on column_constraint referencing old table as old_rows
  for each statement execute function note_rows('layer_id', 'sort', 'constraints');
create or replace trigger note_changed after update on column_constraint referencing old table as old_rows new table as new_rows
  for each statement execute function note_rows('layer_id', 'sort', 'constraints');
create or replace trigger note_added after insert on search_setting referencing new table as new_rows
  for each statement execute function note_rows('map_id', 'place', 'search');
create or replace trigger note_gone after delete on search_setting referencing old table as old_rows
  for each statement execute function note_rows('map_id', 'place', 'search');
create or replace trigger note_changed after update on search_setting referencing old table as old_rows new table as new_rows
  for each statement execute function note_rows('map_id', 'place', 'search');
