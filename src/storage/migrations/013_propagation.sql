-- How nodes know that they know: whose history the database's is, and which nodes there are.

-- A version has 20 bits below its number that chance decides: see first_version().
alter table layer add column previous_version bigint;
alter table layer_change add column previous bigint;
update layer_change set previous = (version - 1) << 20, version = version << 20;
update layer set version = version << 20, previous_version = null;
alter table layer_change alter column previous set not null;

-- The history that versions of layers belong to. After a failover to a standby that lagged, or a restore, versions are
-- given out again for other changes: then the token is another one, and what was kept under the old one counts no more.
create table epoch (
  only_row boolean primary key default true check (only_row),
  token text not null,
  -- Of the database that the token was made for.
  identity text not null
);

-- Nodes that may answer from what they remember. A row goes when its node has left, or when it was given up and can no
-- longer believe that it is up to date.
create table server_node (
  id text primary key,
  -- Process of its listening connection.
  backend int not null,
  dropped_at timestamptz
);
