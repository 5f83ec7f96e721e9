-- Layers made from other layers, external layers, and settings of how layers are shown.
--
-- A virtual layer's objects are a view, layers.l<id>, over its source's table. A materialized layer has a table of
-- its own and, beside it, the view that it is filled from, layers.l<id>_source. PostgreSQL itself so knows which
-- columns of a source are in use and lets nobody take them away.

alter table node
  -- virtual, material: {"filter": "…"}; external: {"url": "…", …}
  add column source jsonb,
  add column visual_settings jsonb,
  add column visual_custom_settings jsonb,
  add column vector_settings jsonb;

-- The layer that a virtual or materialized one is made from. A source cannot go without the layers made from it;
-- whole maps can, so the check comes at the end of the transaction.
alter table layer add column source_id bigint references layer deferrable initially deferred;
create index layer_source on layer (source_id) where source_id is not null;

-- As before; what is touched in a layer's table is touched in the virtual layers over it.
create or replace function layer_touched() returns trigger language plpgsql as $$
declare
  touched record;
  derived record;
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
    -- Only now that the source's row is ours: whoever makes a virtual layer over it holds that row too, so none
    -- comes into being between this and the commit. Rows of virtual layers are only ever taken by way of it.
    for derived in
      update mapwright.layer l set version = l.version + 1, changed_at = clock_timestamp() from mapwright.node n
        where l.source_id = touched.layer_id and n.id = l.id and n.type = 'virtual' returning l.id, l.version
    loop
      insert into mapwright.layer_change (layer_id, version, area) values (derived.id, derived.version, covered);
      perform pg_notify('mapwright', format('L %s %s %s', derived.id, derived.version,
        coalesce(array_to_string(covered, ','), '*')));
    end loop;
  end loop;
  return null;
end $$;

-- Views that depend on what goes (of layers that go in the same statement) go with it.
create or replace function drop_layer_table() returns trigger language plpgsql set search_path from current as $$
declare
  band int;
begin
  execute format('drop view if exists layers.%I cascade', 'l' || old.id || '_source');
  if exists (select 1 from pg_class where oid = to_regclass('layers.l' || old.id) and relkind = 'v') then
    execute format('drop view layers.%I cascade', 'l' || old.id);
    return null;
  end if;
  execute format('drop table if exists layers.%I cascade', 'l' || old.id);
  foreach band in array old.bands loop
    execute format('drop table if exists layers.%I', 'l' || old.id || '_z' || band);
  end loop;
  return null;
end $$;

-- Rows of a layer that is a view, as the planner expects them: its table's statistics and the filter's selectivity.
create function planned_rows(id_of_layer bigint) returns bigint language plpgsql as $$
declare
  plan json;
begin
  execute format('explain (format json) select from layers.%I', 'l' || id_of_layer) into plan;
  return (plan -> 0 -> 'Plan' ->> 'Plan Rows')::bigint;
end $$;


-- A repaired geometry of the same kind as the broken one: of what ST_MakeValid finds, the parts of its dimension.
-- One that has none (a polygon without any area) stays as it is.
create function repaired(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case
    when st_geometrytype(g) = 'ST_GeometryCollection' then st_makevalid(g)
    when st_isempty(parts) then g
    when st_numgeometries(parts) = 1 and st_geometrytype(g) not like 'ST_Multi%' then st_geometryn(parts, 1)
    else parts end
  from (select st_collectionextract(st_makevalid(g), st_dimension(g) + 1) as parts offset 0) made;
end;
