-- Trigger of a layer's table: keeps the runs of its large shapes up.
create or replace function keep_runs() returns trigger language plpgsql set search_path from current as $$
declare
  id_of_layer bigint := tg_argv[0]::bigint;
  runs text := format('layers.l%s_c', id_of_layer);
begin
  if tg_op = 'TRUNCATE' then
    if to_regclass(runs) is not null then execute format('truncate %s', runs); end if;
    return null;
  end if;
  if tg_op <> 'INSERT' and to_regclass(runs) is not null then
    execute format('delete from %s where svc_id = $1', runs) using old.svc_id;
  end if;
  if tg_op <> 'DELETE' and is_large(new.geom_3857) then
    if to_regclass(runs) is null then
      -- Rows of the catalogue are taken when the transaction ends, by note_runs.
      perform pg_advisory_xact_lock(hashtextextended(runs, 0));
      if to_regclass(runs) is null then perform create_runs_table('layers', 'l' || id_of_layer); end if;
    end if;
    execute format('insert into %s select $1, r.* from runs_of($2) r', runs) using new.svc_id, new.geom_3857;
  end if;
  return null;
end $$;
