-- What the cache in front of the server (the edge) has been told to drop, so that a change that was committed is told even if
-- each process ends before it could be.

create table edge_purged (
  kind text not null check (kind in ('project', 'map', 'layer')),
  id bigint not null,
  -- The revision or version whose predecessors the edge has dropped.
  version bigint not null,
  primary key (kind, id)
);

-- What the other table is about; another edge, or another version of the server, begins anew.
create table edge (
  only_one boolean primary key default true check (only_one),
  target text not null
);
insert into edge (target) values ('');

-- All that has another version than the one that the edge was told of, is new, or is gone.
create view edge_outdated as
  select kind, id
  from (
    select 'project' as kind, id::bigint, revision as version from project
    union all
    select 'map', id, revision from map
    union all
    select 'layer', id, version from layer
  ) now
  full join edge_purged purged using (kind, id)
  where now.version is distinct from purged.version;
