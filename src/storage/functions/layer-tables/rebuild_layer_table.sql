-- PostgreSQL counts a table's deleted columns too: 1600 that ever were. This writes the table anew without them. It fails when
-- something else, such as a view, depends on the table. The triggers are off meanwhile, so that projected geometry is taken over
-- too.
create or replace function rebuild_layer_table(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
  spare text := name || '_spare';
  clauses text;
  names text;
  triggers text[];
  indexes text[];
  statement text;
begin
  execute format('alter table layers.%I rename to %I', name, spare);
  perform create_layer_table(id_of_layer);
  select string_agg(format('add column %I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum),
      string_agg(format(', %I', attname), '' order by attnum)
    into clauses, names
    from pg_attribute where attrelid = to_regclass('layers.' || spare) and attnum > 0 and not attisdropped
      and attname not in ('svc_id', 'geom', 'geom_3857');
  if clauses is not null then execute format('alter table layers.%I %s', name, clauses); end if;
  execute format('alter table layers.%I disable trigger user', name);
  execute format('insert into layers.%I (svc_id, geom, geom_3857%s) select svc_id, geom, geom_3857%s from layers.%I',
    name, names, names, spare);
  execute format('alter table layers.%I enable trigger user', name);
  execute format('select setval(%L, last_value, is_called) from %s',
    pg_get_serial_sequence('layers.' || name, 'svc_id'), pg_get_serial_sequence('layers.' || spare, 'svc_id'));
  -- Triggers and indexes that came after the table was made.
  select array_agg(replace(pg_get_triggerdef(t.oid), ' ON layers.' || spare || ' ', ' ON layers.' || name || ' '))
    into triggers from pg_trigger t
    where t.tgrelid = to_regclass('layers.' || spare) and not t.tgisinternal and not exists (
      select 1 from pg_trigger n where n.tgrelid = to_regclass('layers.' || name) and n.tgname = t.tgname);
  select array_agg(replace(pg_get_indexdef(indexrelid), ' ON layers.' || spare || ' ', ' ON layers.' || name || ' '))
    into indexes from pg_index
    where indrelid = to_regclass('layers.' || spare) and not indisprimary
      and pg_get_indexdef(indexrelid) !~ 'USING gist \(geom(_3857)?\)$';
  execute format('drop table layers.%I', spare);
  foreach statement in array coalesce(triggers, '{}') || coalesce(indexes, '{}') loop
    execute statement;
  end loop;
end $$;
