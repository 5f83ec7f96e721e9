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

-- A short list of boxes (at most 16) that covers the given ones.
create function condense_area(boxes double precision[]) returns double precision[] language sql immutable begin atomic
  with box as (
    select boxes[i] x0, boxes[i + 1] y0, boxes[i + 2] x1, boxes[i + 3] y1
    from generate_series(1, coalesce(array_length(boxes, 1), 0), 4) i
  ), whole as (
    select min(x0) x0, min(y0) y0, nullif(max(x1) - min(x0), 0) w, nullif(max(y1) - min(y0), 0) h from box
  ), cell as (
    select min(box.x0) x0, min(box.y0) y0, max(box.x1) x1, max(box.y1) y1
    from box, whole
    group by coalesce(least(3, floor(4 * ((box.x0 + box.x1) / 2 - whole.x0) / whole.w)), 0),
             coalesce(least(3, floor(4 * ((box.y0 + box.y1) / 2 - whole.y0) / whole.h)), 0)
  )
  select case when coalesce(array_length(boxes, 1), 0) <= 64 then coalesce(boxes, '{}')
    else (select array_agg(v) from cell, unnest(array[x0, y0, x1, y1]) v) end;
end;

create function layer_touched() returns trigger language plpgsql set search_path from current as $$
declare
  touched record;
  now_at bigint;
begin
  -- All layers that this transaction touched at once, in the order of their ids, so that two transactions over
  -- the same layers cannot wait for each other. Later firings of the same transaction find nothing left.
  for touched in
    with mine as (delete from layer_touch where transaction_id = pg_current_xact_id() returning layer_id, area)
    select m.layer_id,
           bool_or(m.area is null) as whole,
           (select array_agg(v) from mine a, unnest(a.area) v where a.layer_id = m.layer_id) as boxes
    from mine m group by m.layer_id order by m.layer_id
  loop
    update layer set version = version + 1, changed_at = clock_timestamp()
      where id = touched.layer_id returning version into now_at;
    continue when not found; -- the layer was deleted in the same transaction
    touched.boxes := case when touched.whole then null else condense_area(coalesce(touched.boxes, '{}')) end;
    insert into layer_change (layer_id, version, area) values (touched.layer_id, now_at, touched.boxes);
    perform pg_notify('mapwright', format('L %s %s %s', touched.layer_id, now_at,
      case when touched.boxes is null then '*' else array_to_string(touched.boxes, ',') end));
  end loop;
  return null;
end $$;
create constraint trigger layer_touched after insert on layer_touch
  deferrable initially deferred for each row execute function layer_touched();

create function touched_area(boxes box2d[]) returns double precision[] language sql immutable begin atomic
  select condense_area((select array_agg(v)
    from unnest(boxes) b, unnest(array[st_xmin(b), st_ymin(b), st_xmax(b), st_ymax(b)]) v where b is not null));
end;

-- The boxes of rows' geom_3857, condensed inside one statement so that bulk writes stay cheap.
create function touch_inserted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into layer_touch (layer_id, area)
    select tg_argv[0]::bigint, touched_area(array_agg(box2d(geom_3857))) from new_rows having count(*) > 0;
  return null;
end $$;
create function touch_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into layer_touch (layer_id, area)
    select tg_argv[0]::bigint, touched_area(array_agg(box2d(geom_3857))) from old_rows having count(*) > 0;
  return null;
end $$;
create function touch_updated() returns trigger language plpgsql set search_path from current as $$
begin
  insert into layer_touch (layer_id, area)
    select tg_argv[0]::bigint, touched_area(array_agg(box2d(geom_3857)))
    from (select geom_3857 from old_rows union all select geom_3857 from new_rows) r having count(*) > 0;
  return null;
end $$;
create function touch_truncated() returns trigger language plpgsql set search_path from current as $$
begin
  insert into layer_touch (layer_id, area) values (tg_argv[0]::bigint, null);
  return null;
end $$;
-- Web Mercator of what a map can show. Beyond the projection's edge of latitude the geometry is cut off, for the
-- poles have no finite place there; a geometry wholly beyond becomes null (it is kept as sent in geom).
create function to_mercator_clipped(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_isempty(c) then null else st_transform(c, 3857) end
  from (select st_clipbybox2d(g, st_makeenvelope(-100000, -85.06, 100000, 85.06, 4326)) as c) cut;
end;
create function to_mercator(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case
    when g is null or st_isempty(g) then null
    when st_ymin(g) >= -85.06 and st_ymax(g) <= 85.06 then st_transform(g, 3857)
    else to_mercator_clipped(g) end;
end;
