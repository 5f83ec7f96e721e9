-- How nodes know that they know: whose history the database's is, which nodes there are, and which transaction a
-- notification belongs to.

-- Versions of a layer: the number of its changes, and below it 20 bits that chance decides. After a failover to a standby
-- that lagged, or a restore, the same numbers are given out again for other changes: with those bits they differ from what
-- nodes and Redis remember. A change names the version before it, so that whoever misses one notices.
create function first_version() returns bigint language sql volatile begin atomic
  select (1 << 20) + floor(random() * 1048576)::bigint;
end;
alter table layer alter column version set default first_version();
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

-- Changes with whatever takes the database's place: another cluster, a promoted standby or a recovery to a point in time
-- (the timeline), a database that was dropped and made anew, and a dump that was restored into this one.
create function database_identity() returns text language plpgsql set search_path from current as $$
begin
  return concat_ws('/',
    (select system_identifier from pg_control_system()),
    case when pg_is_in_recovery() then (select timeline_id from pg_control_checkpoint())::text
      else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end,
    (select oid from pg_database where datname = current_database()),
    'epoch'::regclass::oid);
end $$;

create function new_epoch_token() returns text language sql volatile begin atomic
  select left(replace(gen_random_uuid()::text, '-', ''), 12);
end;

insert into epoch (token, identity) values (new_epoch_token(), database_identity());

-- The token of this database's history: a new one when the database is not the one that it was made for, or when somebody
-- has found that the history of `refuted` is not this one. (Files that were put back as they had been do not show it.)
create function claim_epoch(refuted text) returns text language plpgsql set search_path from current as $$
declare
  now_token text;
begin
  update epoch set token = new_epoch_token(), identity = database_identity()
    where identity <> database_identity() or token = refuted;
  select token into now_token from epoch;
  return now_token;
end $$;

-- Nodes that may answer from what they remember. A row goes when its node has left, or when it was given up and can no
-- longer believe that it is up to date.
create table server_node (
  id text primary key,
  -- Process of its listening connection.
  backend int not null,
  dropped_at timestamptz
);

-- As before; the last notification of a transaction that a node has made says which it was, so that the node knows when
-- it, and every other, has heard of the edit.
create or replace function layer_touched() returns trigger language plpgsql as $$
declare
  touched record;
  derived record;
  covered double precision[];
  now_at bigint;
  before bigint;
  -- What is yet to be announced.
  said text;
  node_id text;
begin
  -- All layers that this transaction touched at once, in the order of their ids, so that two transactions over
  -- the same layers cannot wait for each other. Later firings of the same transaction find nothing left.
  for touched in
    with mine as (
      delete from mapwright.layer_touch where transaction_id = pg_current_xact_id() returning layer_id, area as boxes
    )
    select layer_id, bool_or(boxes is null) as whole, string_agg(nullif(array_to_string(boxes, ','), ''), ',') as boxes
    from mine group by layer_id order by layer_id
  loop
    update mapwright.layer set previous_version = version,
        version = ((version >> 20) + 1 << 20) + floor(random() * 1048576)::bigint, changed_at = clock_timestamp()
      where id = touched.layer_id returning version, previous_version into now_at, before;
    continue when not found; -- the layer was deleted in the same transaction
    covered := case when touched.whole then null
      else mapwright.condense_area(string_to_array(coalesce(touched.boxes, ''), ',')::double precision[]) end;
    insert into mapwright.layer_change (layer_id, version, previous, area)
      values (touched.layer_id, now_at, before, covered);
    if said is not null then perform pg_notify('mapwright', said); end if;
    said := format('L %s %s %s %s', touched.layer_id, now_at, before, coalesce(array_to_string(covered, ','), '*'));
    -- Only now that the source's row is ours: whoever makes a virtual layer over it holds that row too, so none
    -- comes into being between this and the commit. Rows of virtual layers are only ever taken by way of it.
    for derived in
      update mapwright.layer l set previous_version = version,
          version = ((version >> 20) + 1 << 20) + floor(random() * 1048576)::bigint, changed_at = clock_timestamp()
        from mapwright.node n where l.source_id = touched.layer_id and n.id = l.id and n.type = 'virtual'
        returning l.id, l.version, l.previous_version
    loop
      insert into mapwright.layer_change (layer_id, version, previous, area)
        values (derived.id, derived.version, derived.previous_version, covered);
      perform pg_notify('mapwright', said);
      said := format('L %s %s %s %s', derived.id, derived.version, derived.previous_version,
        coalesce(array_to_string(covered, ','), '*'));
    end loop;
  end loop;
  if said is not null then
    node_id := current_setting('mapwright.node', true);
    perform pg_notify('mapwright',
      case when node_id <> '' then said || ' ' || node_id || '/' || pg_current_xact_id() else said end);
  end if;
  return null;
end $$;
