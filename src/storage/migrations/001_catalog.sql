-- The catalogue: projects, users, maps, the tree of folders and layers, columns and rights.
-- Geodata tables live in schema `layers`, tables of imports under way in schema `staging`; names in both are made
-- by the server (`l<layer id>`, `c<column id>`), never taken from a user's text.

create table project (
  id int generated always as identity primary key,
  code text not null unique,
  name text not null default '',
  languages text[] not null default '{en}' check (cardinality(languages) > 0),
  -- {"kind":"builtin"} | {"kind":"none"} | {"kind":"tiles","url":"…/{z}/{x}/{y}.png"}
  base_map jsonb not null default '{"kind":"builtin"}',
  -- A hidden project (the built-in base map's) is served to nobody by its code.
  hidden boolean not null default false,
  revision bigint not null default 1,
  created_at timestamptz not null default now()
);

create table account (
  id int generated always as identity primary key,
  login text not null unique,
  password_hash text not null,
  created_at timestamptz not null default now()
);

create table membership (
  project_id int not null references project on delete cascade,
  account_id int not null references account on delete cascade,
  role text not null check (role in ('admin', 'editor', 'viewer')),
  primary key (project_id, account_id)
);

-- Ids of maps, folders and layers come from one sequence, unique in the installation.
create sequence container_id;

create table map (
  id bigint primary key default nextval('container_id'),
  project_id int not null references project on delete cascade,
  code text not null,
  name text not null default '',
  localized_name boolean not null default false,
  names jsonb not null default '{}',
  css_style text not null default '',
  group_layers int not null default 0,
  has_publication boolean not null default true,
  sort double precision not null default 0,
  json jsonb not null default '{}',
  comment text not null default '',
  owner_id int references account on delete set null,
  -- What save-publication-tree was given; null = the full tree is published.
  publication jsonb,
  -- Grows with every change of the map, its tree, styles, columns or rights.
  revision bigint not null default 1,
  created_at timestamptz not null default now(),
  unique (project_id, code)
);

-- Folders and layers of a map. parent_id null = directly in the map.
create table node (
  id bigint primary key default nextval('container_id'),
  map_id bigint not null references map on delete cascade,
  parent_id bigint references node on delete cascade,
  type text not null check (type in ('folder', 'layer', 'virtual', 'material', 'raster', 'external')),
  code text not null,
  name text not null default '',
  localized_name boolean not null default false,
  names jsonb not null default '{}',
  sort double precision not null default 0,
  selected boolean not null default true,
  icon text not null default '',
  json jsonb not null default '{}',
  css_style text not null default '',
  render_type int not null default 0,
  style_mode int not null default 2,
  owner_id int references account on delete set null,
  created_at timestamptz not null default now()
);
create unique index node_code on node (map_id, (type = 'folder'), code);
create index node_parent on node (parent_id);

-- What a layer has beyond its place in the tree. Its objects are in table layers.l<id>.
create table layer (
  id bigint primary key references node on delete cascade,
  geometry_kind text not null default 'Unknown' check (geometry_kind in ('Point', 'LineString', 'Polygon', 'Unknown')),
  -- One more with every committed transaction that touched the layer's objects; see layer_change.
  version bigint not null default 1,
  changed_at timestamptz not null default now(),
  -- Zoom bands that have generalised geometry, ascending by their highest zoom; tables layers.l<id>_z<zoom>.
  bands int[] not null default '{}'
);

-- svc_id and geom have rows here too; the physical name of every other column is c<id>.
create table layer_column (
  id int generated always as identity primary key,
  layer_id bigint not null references layer on delete cascade,
  parent_id int references layer_column on delete cascade,
  code text not null,
  name text not null default '',
  localized_name boolean not null default false,
  names jsonb not null default '{}',
  localized_value boolean not null default false,
  type text not null check (type in ('number', 'geom', 'string', 'text', 'datetime', 'bool', 'file', 'title', 'json')),
  required boolean not null default false,
  sort double precision not null default 0,
  format jsonb,
  unique (layer_id, code)
);

-- Rights beyond a user's role: bits 1 read, 2 edit objects, 4 edit structure, 8 administer.
-- account_id null = the public; map_id null = the whole project; layer_id null = the whole map.
create table access_grant (
  id int generated always as identity primary key,
  project_id int not null references project on delete cascade,
  map_id bigint references map on delete cascade,
  layer_id bigint references layer on delete cascade,
  account_id int references account on delete cascade,
  rights smallint not null check (rights between 0 and 15),
  unique nulls not distinct (project_id, map_id, layer_id, account_id)
);
