-- How many objects of a large layer have which values, kept up by triggers of the layer's table, so that the class borders of
-- its visualization follow an edit without a look at all objects.
--
-- A tally divides the values of an expression into buckets: of numbers by ascending bounds (bucket i: from the i-th bound up to
-- the next one; 0: below the first), of others by keys (bucket i: the i-th key, 0: any other). Bucket -1 has no value.
-- Edits only add rows, so writers of a layer never wait for each other; those who read put rows together.

create table visual_tally (
  id bigint generated always as identity primary key,
  layer_id bigint not null unique references layer on delete cascade,
  column_id bigint not null,
  -- What is counted: a hash of the expression and the keys.
  key text not null,
  -- Of the layer's table: one that was emptied, written anew or replaced has another, and is counted anew.
  filenode bigint not null,
  bounds double precision[] not null
);

create table visual_tally_count (
  tally_id bigint not null,
  bucket int not null,
  n bigint not null
);
create index visual_tally_count_tally on visual_tally_count (tally_id);

create function forget_counts() returns trigger language plpgsql set search_path from current as $$
begin
  delete from visual_tally_count where tally_id = old.id;
  return null;
end $$;
create trigger forget_counts after delete on visual_tally for each row execute function forget_counts();

-- Arguments: id of the tally, SQL of the bucket of a row. Without its tally nothing is counted; an expression that fails ends
-- the tally, never the edit.
create function keep_tally() returns trigger language plpgsql set search_path from current
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

-- The triggers of a tally, in place of those of another. The table's writers must be kept out until the counts are there.
create function attach_tally(id_of_layer bigint, tally bigint, bucket text) returns void
language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
begin
  execute format('create or replace trigger tally_inserted after insert on layers.%I referencing new table as new_rows
    for each statement execute function keep_tally(%L, %L)', layer_table, tally, bucket);
  execute format('create or replace trigger tally_updated after update on layers.%I
    referencing old table as old_rows new table as new_rows for each statement execute function keep_tally(%L, %L)',
    layer_table, tally, bucket);
  execute format('create or replace trigger tally_deleted after delete on layers.%I referencing old table as old_rows
    for each statement execute function keep_tally(%L, %L)', layer_table, tally, bucket);
end $$;

-- Another type of a column, or none: its expression no longer fits.
create function column_left_tally() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'DELETE' or new.type <> old.type or new.localized_value <> old.localized_value then
    delete from visual_tally where column_id = old.id;
    execute format('drop index if exists layers.%I', 'tally_' || old.id);
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger column_left_tally before delete or update of type, localized_value on layer_column
  for each row execute function column_left_tally();

-- A layer without a visualization needs none. Its triggers stay, as to drop them would wait for all readers; they do nothing.
create function visualization_left_tally() returns trigger language plpgsql set search_path from current as $$
begin
  delete from visual_tally where layer_id = new.id;
  return null;
end $$;
create trigger visualization_left_tally after update of visual_settings on node
  for each row when (old.visual_settings is not null and new.visual_settings is null)
  execute function visualization_left_tally();
