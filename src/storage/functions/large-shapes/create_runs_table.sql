-- Makes the empty table of runs beside a layer's table.
create or replace function create_runs_table(schema_name text, table_name text) returns void language plpgsql
set search_path from current as $$
begin
  execute format('create table %I.%I (svc_id bigint not null, part int not null, ring int not null, run int not null,
    shape_box box not null, ring_box box not null, run_box box not null, start geometry not null, line geometry not null,
    primary key (svc_id, part, ring, run))', schema_name, table_name || '_c');
  -- Coordinates get hardly smaller.
  execute format('alter table %I.%I alter line set storage external', schema_name, table_name || '_c');
end $$;
