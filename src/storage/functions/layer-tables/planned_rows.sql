-- Rows of a layer that is a view, as the planner expects them: its table's statistics and the filter's selectivity.
create or replace function planned_rows(id_of_layer bigint) returns bigint language plpgsql as $$
declare
  plan json;
begin
  execute format('explain (format json) select from layers.%I', 'l' || id_of_layer) into plan;
  return (plan -> 0 -> 'Plan' ->> 'Plan Rows')::bigint;
end $$;
