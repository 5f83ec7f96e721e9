-- For the layers that are there, one at a time. What a broken run leaves is done by the next one.
create or replace procedure make_runs_everywhere() language plpgsql as $$
declare
  own record;
begin
  loop
    -- Any of them, so that one that is held for long does not keep the others from their turn.
    select l.id, l.geometry_kind into own from mapwright.layer l
      join pg_class c on c.oid = to_regclass('layers.l' || l.id) and c.relkind = 'r'
      where not exists (select from pg_trigger where tgrelid = c.oid and tgname = 'runs_inserted')
      order by random() limit 1;
    exit when not found;
    begin
      perform set_config('lock_timeout', '1s', true);
      perform mapwright.attach_runs(own.id);
      if own.geometry_kind is distinct from 'Point' and mapwright.make_runs('layers', 'l' || own.id) then
        perform mapwright.note_runs(own.id);
      end if;
    exception when lock_not_available or deadlock_detected or undefined_table then
      perform pg_sleep(0.1);
    end;
    commit;
  end loop;
end $$;
