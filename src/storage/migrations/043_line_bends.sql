-- A stroke takes more than its length where a line bends: of lines that are smaller than a pixel nearly all of what is seen.

-- Mean of stroke_bends() over lines of the layer.
alter table layer add column line_bends real not null default 0;

-- Area that strokes take at the bends of a line that is smaller than the stroke's width, in squares of that width: at each bend
-- the outer corner of the joint. Together no more than about a disc.
create function stroke_bends(g geometry) returns float8 language sql immutable strict parallel safe set search_path from current as $$
  select least(0.8, coalesce(sum(least(tan(turn / 2), 3.9) / 4) filter (where turn is not null), 0)) from (
    select abs(pi() - abs(pi() - mod((next - lag(next) over path + 4 * pi())::numeric, (2 * pi())::numeric)::float8)) as turn from (
      select path[1:cardinality(path) - 1] as path, path[cardinality(path)] as place,
        st_azimuth(geom, lead(geom) over (partition by path[1:cardinality(path) - 1] order by path[cardinality(path)])) as next
      from st_dumppoints(g)
    ) heading where next is not null window path as (partition by path order by place)
  ) turns
$$;

create function mean_bends(schema_name text, table_name text) returns real language plpgsql set search_path from current as $$
declare
  found real;
begin
  -- About 4,000 rows, wherever they lie.
  execute format('select avg(stroke_bends(geom_3857)) from (
      select geom_3857 from %1$I.%2$I tablesample system (%3$s) repeatable (1)
      where st_dimension(geom_3857) = 1 and st_npoints(geom_3857) < 200 limit 2000) some_lines', schema_name, table_name,
    (select greatest(0.001, least(100, 400000 / greatest(reltuples, 1))) from pg_class
      where oid = to_regclass(format('%I.%I', schema_name, table_name)))) into found;
  return coalesce(found, 0);
end $$;

-- Found whenever the sums of what is too small are made or looked at anew.
create function note_line_bends() returns trigger language plpgsql set search_path from current as $$
begin
  if cardinality(new.bands) > 0 then new.line_bends := mean_bends('layers', 'l' || new.id); end if;
  return new;
end $$;
create trigger layer_line_bends before update of gathered on layer
  for each row when (new.gathered is not null) execute function note_line_bends();
update layer set gathered = gathered where gathered is not null;

-- What a band costs is counted in vertices, where an object is as much as eight of them more: rows have to be found, sent and drawn.
create or replace function light_bands(schema_name text, table_name text, made int[]) returns int[] language plpgsql
set search_path from current as $$
declare
  found int[] := '{}';
  band int;
  whole bigint;
  is_light boolean;
begin
  if cardinality(made) = 0 then return found; end if;
  execute format('select sum(8 + st_npoints(geom_3857)) from %I.%I', schema_name, table_name) into whole;
  foreach band in array made loop
    execute format('select (select coalesce(sum(8 + st_npoints(geom)), 0) from %I.%I)
        + (select coalesce(sum(case dimension when 1 then 10 else 13 end * cardinality(places)), 0) from %I.%I) <= 0.7 * $1',
      schema_name, table_name || '_z' || band, schema_name, table_name || '_g' || band) into is_light using whole;
    if is_light then found := found || band; end if;
  end loop;
  return found;
end $$;
