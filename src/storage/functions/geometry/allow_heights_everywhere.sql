-- All that are left, each in a transaction of its own: every lock takes a place in a table of limited size. Who does not
-- get its locks soon lets go of them, for readers and writers queue behind who waits for one.
create or replace procedure allow_heights_everywhere() language plpgsql as $$
declare
  layer_table regclass;
begin
  loop
    -- Any of them, so that one that is held for long does not keep the others from their turn.
    layer_table := (
      select attrelid from pg_attribute join pg_class c on c.oid = attrelid
      where relnamespace = 'layers'::regnamespace and relkind = 'r' and attname = 'geom_3857' and attgenerated = 's'
      order by random() limit 1);
    exit when layer_table is null;
    begin
      perform set_config('lock_timeout', '1s', true);
      perform mapwright.allow_heights(layer_table);
    exception when lock_not_available or deadlock_detected or undefined_table then
      perform pg_sleep(0.1);
    end;
    commit;
  end loop;
end $$;
