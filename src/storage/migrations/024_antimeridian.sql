-- Longitudes beyond 180 degrees keep their place: PROJ would wrap them, so that a polygon from 170 to 190 degrees became
-- a band around the rest of the world. Degrees reach from -360 to 360.

-- Where the geometry is moved to before it is projected, and back: whole turns where that is enough, since they change no
-- digit.
create function beyond_shift(xmin double precision, xmax double precision, half double precision)
returns double precision language sql immutable parallel safe begin atomic
  select case when xmin >= half then 2 * half when xmax <= -half then -2 * half else (xmin + xmax) / 2 end;
end;

-- EPSG:3857 of a geometry in degrees that goes beyond 180. One that is wider than a turn goes a slower way.
create function to_mercator_beyond(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmax(g) - st_xmin(g) <= 360
    then st_translate(st_transform(st_translate(g, -dx, 0), 3857), dx * 111319.49079327358, 0)
    else st_setsrid(st_transform(g, '+proj=longlat +datum=WGS84 +over +no_defs', '+proj=webmerc +datum=WGS84 +over +no_defs'), 3857)
    end
  from (select beyond_shift(st_xmin(g), st_xmax(g), 180) as dx) shift;
end;

-- The reverse.
create function to_degrees_beyond(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmax(g) - st_xmin(g) <= 2 * 20037508.342789244
    then st_translate(st_transform(st_translate(g, -dx, 0), 4326), dx / 111319.49079327358, 0)
    else st_setsrid(st_transform(g, '+proj=webmerc +datum=WGS84 +over +no_defs', '+proj=longlat +datum=WGS84 +over +no_defs'), 4326)
    end
  from (select beyond_shift(st_xmin(g), st_xmax(g), 20037508.342789244) as dx) shift;
end;

-- Between degrees and EPSG:3857, with heights; latitudes must be within those of EPSG:3857.
create function project_mercator(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmin(g) >= -180 and st_xmax(g) <= 180 then st_transform(g, 3857) else to_mercator_beyond(g) end;
end;
create function project_degrees(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmin(g) >= -20037508.342789244 and st_xmax(g) <= 20037508.342789244
    then st_transform(g, 4326) else to_degrees_beyond(g) end;
end;

-- As before, but for that.
create or replace function to_mercator_clipped(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_isempty(c) then null else project_mercator(c) end
  from (select st_clipbybox2d(case when st_isvalid(g) then g else st_makevalid(g) end,
          st_makeenvelope(-100000, -85.06, 100000, 85.06, 4326)) as c) cut;
end;
create or replace function to_mercator(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case
    when g is null or st_isempty(g) then null
    when st_ymin(g) < -85.06 or st_ymax(g) > 85.06 then to_mercator_clipped(st_force2d(g))
    when st_xmin(g) < -180 or st_xmax(g) > 180 then to_mercator_beyond(st_force2d(g))
    else st_transform(st_force2d(g), 3857) end;
end;

-- Whether objects of a layer lie beyond 180 degrees: those are drawn in each copy of the world that they touch.
alter table layer add column crosses_antimeridian boolean not null default false;
drop trigger layer_changed on layer;
create trigger layer_changed after update of geometry_kind, bands, crosses_antimeridian on layer
  for each row execute function layer_changed();

-- Keeps the column up after the layer's table was replaced.
create function recheck_antimeridian(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
  found boolean;
begin
  execute format('select exists (select from layers.%I
      where geom_3857 && st_makeenvelope(20037508.35, -1e8, 1e8, 1e8, 3857) and st_xmax(geom_3857) > 20037508.35)
    or exists (select from layers.%I
      where geom_3857 && st_makeenvelope(-1e8, -1e8, -20037508.35, 1e8, 3857) and st_xmin(geom_3857) < -20037508.35)', name, name)
    into found;
  update layer set crosses_antimeridian = found where id = id_of_layer and crosses_antimeridian <> found;
end $$;

-- Keeps the column up with a change in these boxes. It stays true until the layer's table is replaced.
create function note_crossing(id_of_layer bigint, boxes double precision[]) returns void language plpgsql
set search_path from current as $$
begin
  if exists (select from unnest(boxes) with ordinality box (x, place) where place % 2 = 1 and abs(x) > 20037508.35) then
    update layer set crosses_antimeridian = true where id = id_of_layer and not crosses_antimeridian;
  end if;
end $$;

-- As before, and notes that.
create or replace function layer_touched() returns trigger language plpgsql as $$
declare
  touched record;
  derived record;
  covered double precision[];
  now_at bigint;
  before bigint;
  -- What is yet to be announced.
  said text;
  node_id text;
begin
  -- All layers that this transaction touched at once, in the order of their ids, so that two transactions over
  -- the same layers cannot wait for each other. Later firings of the same transaction find nothing left.
  for touched in
    with mine as (
      delete from mapwright.layer_touch where transaction_id = pg_current_xact_id() returning layer_id, area as boxes
    )
    select layer_id, bool_or(boxes is null) as whole, string_agg(nullif(array_to_string(boxes, ','), ''), ',') as boxes
    from mine group by layer_id order by layer_id
  loop
    update mapwright.layer set previous_version = version,
        version = ((version >> 20) + 1 << 20) + floor(random() * 1048576)::bigint, changed_at = clock_timestamp()
      where id = touched.layer_id returning version, previous_version into now_at, before;
    continue when not found; -- the layer was deleted in the same transaction
    covered := case when touched.whole then null
      else mapwright.condense_area(string_to_array(coalesce(touched.boxes, ''), ',')::double precision[]) end;
    insert into mapwright.layer_change (layer_id, version, previous, area)
      values (touched.layer_id, now_at, before, covered);
    perform mapwright.note_crossing(touched.layer_id, covered);
    if said is not null then perform pg_notify('mapwright', said); end if;
    said := format('L %s %s %s %s', touched.layer_id, now_at, before, coalesce(array_to_string(covered, ','), '*'));
    -- Only now that the source's row is ours: whoever makes a virtual layer over it holds that row too, so none
    -- comes into being between this and the commit. Rows of virtual layers are only ever taken by way of it.
    for derived in
      update mapwright.layer l set previous_version = version,
          version = ((version >> 20) + 1 << 20) + floor(random() * 1048576)::bigint, changed_at = clock_timestamp()
        from mapwright.node n where l.source_id = touched.layer_id and n.id = l.id and n.type = 'virtual'
        returning l.id, l.version, l.previous_version
    loop
      insert into mapwright.layer_change (layer_id, version, previous, area)
        values (derived.id, derived.version, derived.previous_version, covered);
      perform pg_notify('mapwright', said);
      said := format('L %s %s %s %s', derived.id, derived.version, derived.previous_version,
        coalesce(array_to_string(covered, ','), '*'));
    end loop;
  end loop;
  if said is not null then
    node_id := current_setting('mapwright.node', true);
    perform pg_notify('mapwright',
      case when node_id <> '' then said || ' ' || node_id || '/' || pg_current_xact_id() else said end);
  end if;
  return null;
end $$;

-- What is there already: the trigger that projects it also tells of the change.
do $$
declare
  one record;
begin
  for one in
    select c.relname as name from pg_class c
    where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname ~ '^l[0-9]+$'
  loop
    -- The index rounds its boxes.
    execute format('update layers.%I set geom = geom
      where (geom && st_makeenvelope(180, -90, 360, 90, 4326) or geom && st_makeenvelope(-360, -90, -180, 90, 4326))
        and (st_xmax(geom) > 180 or st_xmin(geom) < -180)', one.name);
  end loop;
end $$;
