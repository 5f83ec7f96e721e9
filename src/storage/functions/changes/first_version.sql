-- Versions of a layer: the number of its changes, and below it 20 bits that chance decides. After a failover to a standby that
-- lagged, or a restore, the same numbers are given out again for other changes: with those bits they differ from what nodes and
-- Redis remember. A change names the version before it, so that whoever misses one notices.
create or replace function first_version() returns bigint language sql volatile begin atomic
  select (1 << 20) + floor(random() * 1048576)::bigint;
end;
