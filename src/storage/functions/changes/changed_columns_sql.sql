-- SQL of which columns differ between old_rows and new_rows: their names as keys of a JSON object, whose values are true.
create or replace function changed_columns_sql(layer_table regclass) returns text language sql stable begin atomic
  select 'select jsonb_strip_nulls(to_jsonb(found)) from (select '
    || string_agg(format('nullif(bool_or(o.%1$I::text is distinct from n.%1$I::text), false) as %1$I', attname), ', ')
    || ' from old_rows o join new_rows n using (svc_id)) found'
  from pg_attribute
  where attrelid = layer_table and attnum > 0 and not attisdropped and attname not in ('svc_id', 'geom_3857');
end;
