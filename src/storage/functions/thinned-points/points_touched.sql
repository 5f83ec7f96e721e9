-- Trigger, at the end of a transaction: brings the thinnings of the layers that it touched up to what their objects are now.
create or replace function points_touched() returns trigger language plpgsql set search_path from current as $$
declare
  touched record;
  spec thinning;
begin
  for touched in
    with mine as (
      delete from point_touch where transaction_id = pg_current_xact_id() returning layer_id, ids
    )
    select layer_id, bool_or(ids is null) as whole,
      array(select distinct id from mine m, unnest(m.ids) id where m.layer_id = mine.layer_id) as ids
    from mine group by layer_id order by layer_id
  loop
    perform from layer where id = touched.layer_id for no key update;
    continue when not found;
    for spec in
      select * from thinning where layer_id = touched.layer_id and (building or cardinality(bands) > 0) order by number
    loop
      if spec.building then
        insert into thinning_pending (layer_id, number, ids)
          values (spec.layer_id, spec.number, case when not touched.whole then touched.ids end);
        continue;
      end if;
      begin
        perform follow_edits(spec, case when not touched.whole then touched.ids end);
      exception when undefined_column or undefined_function or data_exception then
        -- A column that the style's rules look at is gone, or is another one: the style is drawn from all points.
        perform drop_thinning(spec.layer_id, spec.number);
      end;
    end loop;
  end loop;
  return null;
end $$;

drop trigger if exists points_touched on point_touch;
create constraint trigger points_touched after insert on point_touch
  deferrable initially deferred for each row execute function points_touched();
