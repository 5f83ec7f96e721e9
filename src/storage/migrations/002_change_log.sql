-- The change log: every transaction that touched a layer's table adds one to the layer's version and leaves a row
-- (layer, version, area), whichever client made it. Versions of one layer are committed in their order, because
-- writers of one layer meet at its row, so "a reader that sees version v sees every change up to v" holds.
--
-- area: flattened boxes xmin, ymin, xmax, ymax in EPSG:3857 metres; '{}' = nothing that can be drawn changed;
-- null = the whole layer.

create table layer_change (
  layer_id bigint not null references layer on delete cascade,
  version bigint not null,
  area double precision[],
  changed_at timestamptz not null default clock_timestamp(),
  primary key (layer_id, version)
);
create index layer_change_age on layer_change (changed_at);

-- Statement triggers see the old and new rows but cannot wait for the end of the transaction: they leave their
-- areas here, and this table's own deferred trigger empties it again at commit. It is empty to everyone else.
create unlogged table layer_touch (
  transaction_id xid8 not null default pg_current_xact_id(),
  layer_id bigint not null,
  area double precision[]
);
create index layer_touch_transaction on layer_touch (transaction_id);

-- A short list of boxes (at most 16) that covers the given ones. (PL/pgSQL keeps the plans of its statements; an
-- SQL function of this size is planned at each call, which an edit of one object would pay for.)
create function condense_area(boxes double precision[]) returns double precision[] language plpgsql immutable as $$
begin
  if cardinality(boxes) <= 64 then return boxes; end if;
  return (
    with box as (
      select boxes[i] x0, boxes[i + 1] y0, boxes[i + 2] x1, boxes[i + 3] y1
      from generate_series(1, cardinality(boxes), 4) i
    ), whole as (
      select min(x0) x0, min(y0) y0, nullif(max(x1) - min(x0), 0) w, nullif(max(y1) - min(y0), 0) h from box
    ), cell as (
      select min(box.x0) x0, min(box.y0) y0, max(box.x1) x1, max(box.y1) y1
      from box, whole
      group by coalesce(least(3, floor(4 * ((box.x0 + box.x1) / 2 - whole.x0) / whole.w)), 0),
               coalesce(least(3, floor(4 * ((box.y0 + box.y1) / 2 - whole.y0) / whole.h)), 0)
    )
    select array_agg(v) from cell, unnest(array[x0, y0, x1, y1]) v);
end $$;

create function layer_touched() returns trigger language plpgsql as $$
declare
  touched record;
  covered double precision[];
  now_at bigint;
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
    update mapwright.layer set version = version + 1, changed_at = clock_timestamp()
      where id = touched.layer_id returning version into now_at;
    continue when not found; -- the layer was deleted in the same transaction
    covered := case when touched.whole then null
      else mapwright.condense_area(string_to_array(coalesce(touched.boxes, ''), ',')::double precision[]) end;
    insert into mapwright.layer_change (layer_id, version, area) values (touched.layer_id, now_at, covered);
    perform pg_notify('mapwright', format('L %s %s %s', touched.layer_id, now_at,
      coalesce(array_to_string(covered, ','), '*')));
  end loop;
  return null;
end $$;
create constraint trigger layer_touched after insert on layer_touch
  deferrable initially deferred for each row execute function layer_touched();

-- Inlined where it is used, and bound to PostGIS here, whatever search path a client has.
create function box_numbers(g geometry) returns double precision[] language sql immutable parallel safe begin atomic
  select array[st_xmin(g), st_ymin(g), st_xmax(g), st_ymax(g)];
end;

-- The boxes of the rows that a statement wrote, condensed at once so that bulk writes leave little behind.
create function touch_inserted() returns trigger language plpgsql as $$
declare
  n bigint;
  boxes double precision[];
begin
  select count(*), array_agg(v) into n, boxes
  from (select geom_3857 as g from new_rows) r
  left join lateral unnest(mapwright.box_numbers(g)) v on g is not null;
  if n > 0 then
    insert into mapwright.layer_touch (layer_id, area)
      values (tg_argv[0]::bigint, mapwright.condense_area(coalesce(boxes, '{}')));
  end if;
  return null;
end $$;
create function touch_deleted() returns trigger language plpgsql as $$
declare
  n bigint;
  boxes double precision[];
begin
  select count(*), array_agg(v) into n, boxes
  from (select geom_3857 as g from old_rows) r
  left join lateral unnest(mapwright.box_numbers(g)) v on g is not null;
  if n > 0 then
    insert into mapwright.layer_touch (layer_id, area)
      values (tg_argv[0]::bigint, mapwright.condense_area(coalesce(boxes, '{}')));
  end if;
  return null;
end $$;
create function touch_updated() returns trigger language plpgsql as $$
declare
  n bigint;
  boxes double precision[];
begin
  select count(*), array_agg(v) into n, boxes
  from (select geom_3857 as g from old_rows union all select geom_3857 from new_rows) r
  left join lateral unnest(mapwright.box_numbers(g)) v on g is not null;
  if n > 0 then
    insert into mapwright.layer_touch (layer_id, area)
      values (tg_argv[0]::bigint, mapwright.condense_area(coalesce(boxes, '{}')));
  end if;
  return null;
end $$;
create function touch_truncated() returns trigger language plpgsql as $$
begin
  insert into mapwright.layer_touch (layer_id, area) values (tg_argv[0]::bigint, null);
  return null;
end $$;

-- Web Mercator of what a map can show. Beyond the projection's edge of latitude the geometry is cut off, for the
-- poles have no finite place there; a geometry wholly beyond becomes null (it is kept as sent in geom). Cutting
-- turns polygons that cross themselves (Antarctica along the antimeridian) inside out, so those are mended first.
create function to_mercator_clipped(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_isempty(c) then null else st_transform(c, 3857) end
  from (select st_clipbybox2d(case when st_isvalid(g) then g else st_makevalid(g) end,
          st_makeenvelope(-100000, -85.06, 100000, 85.06, 4326)) as c) cut;
end;
create function to_mercator(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case
    when g is null or st_isempty(g) then null
    when st_ymin(g) >= -85.06 and st_ymax(g) <= 85.06 then st_transform(g, 3857)
    else to_mercator_clipped(g) end;
end;
