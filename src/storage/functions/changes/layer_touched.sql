-- Gives each layer that a transaction has touched its next version, writes the change log, and announces it. What is touched in a
-- layer's table is touched in the virtual layers over it.
--
-- A transaction may touch several layers of a map, and one of them may be the first to reach beyond 180 degrees: the rows of maps
-- are taken before those of all layers that it touches, not only before that of their own layer. The last notification of a
-- transaction that a node has made says which it was, so that the node knows when it, and every other, has heard of the edit.
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
  ids bigint[];
  wholes boolean[];
  texts text[];
begin
  -- All layers that this transaction touched at once, in the order of their ids, so that two transactions over
  -- the same layers cannot wait for each other. Later firings of the same transaction find nothing left.
  with mine as (
    delete from mapwright.layer_touch where transaction_id = pg_current_xact_id() returning layer_id, area as boxes
  ), layers as (
    select layer_id, bool_or(boxes is null) as whole, string_agg(nullif(array_to_string(boxes, ','), ''), ',') as boxes
    from mine group by layer_id
  )
  select array_agg(layer_id order by layer_id), array_agg(whole order by layer_id), array_agg(boxes order by layer_id)
    into ids, wholes, texts from layers;
  if cardinality(ids) > 1 then
    -- The rows of all maps that will change before those of any layers.
    perform from mapwright.map where id in (
        select n.map_id from unnest(ids, texts) t (layer_id, boxes) join mapwright.layer l on l.id = t.layer_id
          join mapwright.node n on n.id = l.id
        where not l.crosses_antimeridian and exists (
          select from unnest(string_to_array(t.boxes, ',')::double precision[]) with ordinality box (x, place)
          where place % 2 = 1 and abs(x) > 20037508.35))
      order by id for no key update;
  end if;
  for touched in select * from unnest(ids, wholes, texts) t (layer_id, whole, boxes) order by layer_id
  loop
    perform mapwright.note_crossing(touched.layer_id, string_to_array(touched.boxes, ',')::double precision[]);
    update mapwright.layer set previous_version = version,
        version = ((version >> 20) + 1 << 20) + floor(random() * 1048576)::bigint, changed_at = clock_timestamp()
      where id = touched.layer_id returning version, previous_version into now_at, before;
    continue when not found; -- the layer was deleted in the same transaction
    covered := case when touched.whole then null
      else mapwright.condense_area(string_to_array(coalesce(touched.boxes, ''), ',')::double precision[]) end;
    insert into mapwright.layer_change (layer_id, version, previous, area)
      values (touched.layer_id, now_at, before, covered);
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

drop trigger if exists layer_touched on layer_touch;
create constraint trigger layer_touched after insert on layer_touch
  deferrable initially deferred for each row execute function layer_touched();
