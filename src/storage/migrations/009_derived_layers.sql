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
