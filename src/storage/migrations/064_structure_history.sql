-- expands
-- functions: 3f6551c9574994f7be8db71299d279af
-- What happened to maps, folders, layers and their columns, written by triggers of the catalogue (functions/history): who, when, and
-- the members before and after. What a transaction did belongs together. Rows have no references: they outlive what they tell of.
create table structure_history (
  id bigint generated always as identity primary key,
  project_id int not null,
  map_id bigint not null,
  -- The folder or layer; null = the map itself.
  node_id bigint,
  kind text not null check (kind in ('map', 'folder', 'layer', 'column')),
  -- Of the map, folder, layer or column.
  item_id bigint not null,
  -- As they were then.
  map_code text not null,
  node_code text,
  code text not null,
  -- c = created, u = changed, d = deleted, r = restored
  op "char" not null,
  -- Of a change the members that differ, as the catalogue's tables have them.
  before jsonb not null,
  after jsonb not null,
  at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id(),
  -- '' = it is not known.
  login text not null,
  -- Numbers of transactions begin anew where a backup is restored.
  unique (transaction_id, at, kind, item_id)
);
create index structure_history_project on structure_history (project_id, id);
create index structure_history_item on structure_history (kind, item_id, id);
create index structure_history_at on structure_history using brin (at) with (pages_per_range = 16);
