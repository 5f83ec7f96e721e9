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
