-- expands
-- functions: a44785f5bac8065c4b262d7a5b85c680
-- What happened to objects, written by the triggers of layers' tables (touch_inserted and its neighbours): who, when, and the values
-- before and after. What a transaction did belongs together. Rows have no reference to their layer: they are written with each edit,
-- and those of layers that are gone are deleted with what is old.
create table object_history (
  id bigint generated always as identity primary key,
  layer_id bigint not null,
  -- null = many objects at once.
  object_id bigint,
  -- i = created, u = changed, d = deleted; I = many created at once, R = all replaced by an import, T = all deleted at once
  op "char" not null,
  -- Values by physical column, geom as hexadecimal EWKB: of a deleted object all, of a changed one those that differ.
  before jsonb,
  after jsonb,
  -- Of I.
  ids bigint[],
  at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id(),
  -- '' = by SQL.
  login text not null default ''
);
create index object_history_layer on object_history (layer_id, id);
create index object_history_object on object_history (layer_id, object_id, id);
-- Of many objects at once: those of one object are looked for in each.
create index object_history_many on object_history (layer_id) where op = 'I';
create index object_history_at on object_history using brin (at) with (pages_per_range = 16);
