-- Changes with whatever takes the database's place: another cluster, a promoted standby or a recovery to a point in time
-- (the timeline), a database that was dropped and made anew, and a dump that was restored into this one.
create or replace function database_identity() returns text language plpgsql set search_path from current as $$
begin
  return concat_ws('/',
    (select system_identifier from pg_control_system()),
    case when pg_is_in_recovery() then (select timeline_id from pg_control_checkpoint())::text
      else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end,
    (select oid from pg_database where datname = current_database()),
    'epoch'::regclass::oid);
end $$;
