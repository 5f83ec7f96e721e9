-- Trigger, at the end of a transaction: adds what it has changed of small objects to the tables of sums.
create or replace function gathers_touched() returns trigger language plpgsql set search_path from current as $$
declare
  touched record;
begin
  for touched in
    with mine as (
      delete from gather_touch where transaction_id = pg_current_xact_id() returning layer_id, band, sums
    )
    select layer_id, band, array_agg(sums) as changes from mine group by 1, 2 order by 1, 2
  loop
    perform from layer where id = touched.layer_id for no key update;
    if found and to_regclass(format('layers.l%s_g%s', touched.layer_id, touched.band)) is not null then
      perform add_gathered(touched.layer_id, touched.band, touched.changes);
    end if;
  end loop;
  return null;
end $$;

drop trigger if exists gathers_touched on gather_touch;
create constraint trigger gathers_touched after insert on gather_touch
  deferrable initially deferred for each row execute function gathers_touched();
