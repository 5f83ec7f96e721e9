-- Files attached to objects. Their bytes are in the folder of blobs under the uuid. A file belongs to one object and
-- column; it can be reached while the object lists its id there, and is swept away some time after it no longer does.
create table file (
  id bigint generated always as identity primary key,
  uuid uuid not null unique,
  layer_id bigint not null references layer on delete cascade,
  object_id bigint not null,
  column_id int not null references layer_column on delete cascade,
  -- As the client named it; never part of a path.
  name text not null,
  -- Told by the file's content.
  mime text not null,
  bytes bigint not null,
  created_at timestamptz not null default now()
);
create index file_object on file (layer_id, object_id);
create index file_column on file (column_id);
