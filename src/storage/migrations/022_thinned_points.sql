-- Points are thinned ahead of time: of those that fall on one pixel and look alike, the one that is drawn last covers the
-- others. A thinning is a set of tables, layers.l<id>_p<number>_z<zoom>, each with the points of that zoom, and each made
-- from the next finer one. Which points look alike depends on the style's rules.

create table thinning (
  -- No reference: the rows say which tables go with the layer (drop_layer_table).
  layer_id bigint not null,

  number int not null,
  -- Of the expression and the masks; 'plain' = no rule looks at a column.
  digest text not null,
  -- SQL of the rules that an object of the row o$ matches, one bit each.
  bits text not null,
  -- Physical names of the columns that it reads.
  columns text[] not null,
  -- For each zoom from 0 on, the bits of the rules that draw the same opaque marker for each point, and of those under
  -- which every point is drawn. Those of a zoom are among those of the next.
  kinds bigint[] not null,
  keeps bigint[] not null,
  -- Zooms of the tables, ascending.
  bands int[] not null default '{}',
  -- The tables are being made; what is edited meanwhile is noted in thinning_pending.
  building boolean not null default false,
  -- Since when another has taken its place: nodes that have not heard of it may still read it for a while.
  retired_at timestamptz,
  primary key (layer_id, number)
);

-- For each combination of rules the values of some object that matches them, by which Mapnik finds the same rules again.
create table thinned_class (
  layer_id bigint not null,
  number int not null,
  bits bigint not null,
  sample jsonb not null,
  primary key (layer_id, number, bits)
);

create table thinning_pending (
  layer_id bigint not null,
  number int not null,
  -- null = all
  ids bigint[]
);
create index thinning_pending_thinning on thinning_pending (layer_id, number);

-- Ids of the objects that a transaction touched; null = all. As layer_touch, it is empty to everyone else.
create unlogged table point_touch (
  transaction_id xid8 not null default pg_current_xact_id(),
  layer_id bigint not null,
  ids bigint[]
);
create index point_touch_transaction on point_touch (transaction_id);

-- A pixel's point that is new in a band, or was in it.
create type point_change as (x int, y int, bits bigint, svc_id bigint, gone boolean);
