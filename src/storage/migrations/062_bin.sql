-- expands
-- functions: ce3a9fbea663c61ee8d782b180f43219
-- The bin: what was deleted, and can be restored as long as it is here. Its maps, and folders and layers in maps of their own,
-- belong to a hidden project, so that nothing that is asked finds them; what hangs on them is left as it is. What leaves the bin
-- without being restored moves on to the project of what is to be removed (015_deletion.sql).
insert into project (id, code, hidden) overriding system value values (-1, '(bin)', true);

-- Deleted columns belong to this layer, which has no table. Their values stay in the tables of their own layers.
insert into map (id, project_id, code) values (0, -1, '0');
insert into node (id, map_id, type, code) values (0, 0, 'external', '0');
insert into layer (id) values (0);

create table bin (
  id bigint generated always as identity primary key,
  project_id int not null references project on delete cascade,
  kind text not null check (kind in ('map', 'folder', 'layer', 'column')),
  -- Of the map, folder, layer or column.
  item_id bigint not null,
  code text not null,
  name text not null,
  -- Where it was: a map itself, or the map of what else it is, and a column's layer.
  map_id bigint not null references map on delete cascade,
  map_code text not null,
  layer_id bigint references layer on delete cascade,
  layer_code text,
  -- The map of the hidden project in which it lies; null = it is a column.
  holder_id bigint references map on delete cascade,
  -- What the deletion took from others: places in the tree, grants, settings.
  kept jsonb not null,
  -- null = not measured yet.
  bytes bigint,
  deleted_at timestamptz not null default now(),
  deleted_by int references account on delete set null,
  -- '' = the operator.
  deleted_login text not null
);
create index bin_project on bin (project_id, id);
create index bin_map on bin (map_id);
create index bin_layer on bin (layer_id) where layer_id is not null;
create unique index bin_holder on bin (holder_id) where holder_id is not null;
create index bin_deleted_by on bin (deleted_by) where deleted_by is not null;
