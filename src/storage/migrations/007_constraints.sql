-- Constraints of columns, changes of a column's type, and new room in a table that many columns have left.

-- Allowed values of columns. columns: ids of layer_column; the codes may change.
create table column_constraint (
  id int generated always as identity primary key,
  layer_id bigint not null references layer on delete cascade,
  type text not null check (type in ('enum', 'range', 'pattern')),
  name text not null default '',
  column_ids int[] not null,
  -- enum: the allowed values; range: [least, greatest], null = none; pattern: [regular expression]
  definition jsonb not null,
  sort int not null
);
create index column_constraint_layer on column_constraint (layer_id);
create trigger constraint_changed after insert or update or delete on column_constraint
  for each row execute function column_changed();

-- The conversions below never fail: what has no counterpart in the new type becomes null. Between the types stands
-- a value's JSON as the API shows it. Sessions run in UTC.

-- A finite number that a text holds. (The numeric type has room for every text of this pattern.)
create function number_of(t text) returns double precision language plpgsql immutable parallel safe as $$
declare
  bare text := btrim(t, E' \t\r\n');
  n numeric;
begin
  if length(bare) > 400 or bare !~ '^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$' then return null; end if;
  n := bare::numeric;
  if n <> 0 and (abs(n) > 1.7976931348623157e308 or abs(n) < 2.2250738585072014e-308) then return null; end if;
  return bare::double precision;
end $$;

-- ISO 8601 text as the API shows it.
create function moment_text(moment timestamptz) returns text language sql stable parallel safe begin atomic
  select replace(to_json(moment) #>> '{}', '+00:00', 'Z');
end;

-- The moment that a text names in ISO 8601, by the rules for saving an object.
create function moment_of(t text) returns timestamptz language plpgsql stable parallel safe as $$
declare
  bare text := replace(btrim(t, E' \t\r\n'), ',', '.');
  moment timestamptz;
begin
  if bare !~ ('^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])'
      '([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?( ?([Zz]|[+-](0\d|1[0-5])(:?[0-5]\d)?))?)?$') then
    return null;
  end if;
  if substr(bare, 9, 2)::int
      > extract(day from (substr(bare, 1, 7) || '-01')::timestamp + interval '1 month - 1 day') then
    return null;
  end if;
  moment := bare::timestamptz;
  if moment < '0001-01-01 00:00:00Z' or moment > '9999-12-31 23:59:59.999999Z' then return null; end if;
  return moment;
end $$;

-- JSON that a text holds, else the text as a JSON string. (Numbers with long exponents are not parsed: a few bytes
-- of them become megabytes.)
create function json_of(t text) returns jsonb language plpgsql immutable parallel safe as $$
begin
  if btrim(t) = '' then return null; end if;
  if t ~ '^\s*([\[{"]|-?\d|true|false)' and t !~ '[eE][+-]?\d{3}' then
    begin
      return t::jsonb;
    exception when others then null;
    end;
  end if;
  return to_jsonb(t);
end $$;

create function json_of_file_ids(t text) returns jsonb language plpgsql immutable parallel safe as $$
begin
  if t !~ '^\d{1,15}(,\d{1,15})*$' then return null; end if;
  return to_jsonb(string_to_array(t, ',')::bigint[]);
end $$;

-- A value of a column of the type from_type as one of to_type; null when it cannot be one.
create function convert_value(v jsonb, from_type text, to_type text) returns jsonb
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

-- As convert_value, for each language.
create function convert_languages(v jsonb, from_type text, to_type text) returns jsonb
language sql stable parallel safe begin atomic
  select jsonb_object_agg(key, converted)
  from (select key, convert_value(value, from_type, to_type) as converted
    from jsonb_each(case when jsonb_typeof(v) = 'object' then v end)) each_language
  where converted is not null;
end;

-- What a reader sees who has no language of his own: the main language's value, else any.
create function main_value(v jsonb, main text) returns jsonb language sql immutable parallel safe begin atomic
  select value from jsonb_each(case when jsonb_typeof(v) = 'object' then v end)
  where value not in ('null', '""') order by key <> main, key limit 1;
end;

create function in_language(language text, v jsonb) returns jsonb language sql immutable parallel safe begin atomic
  select case when v is not null then jsonb_build_object(language, v) end;
end;

-- PostgreSQL counts a table's deleted columns too: 1600 that ever were. This writes the table anew without them. It
-- fails when something else, such as a view, depends on the table.
create function rebuild_layer_table(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
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
  execute format('insert into layers.%I (svc_id, geom%s) select svc_id, geom%s from layers.%I',
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
