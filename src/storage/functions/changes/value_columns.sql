-- SQL list of the columns of a layer's table that have values of their own, but svc_id and geom; null::text of none.
create or replace function value_columns(layer_table regclass, alias text) returns text language sql stable begin atomic
  select coalesce(string_agg(alias || '.' || quote_ident(attname), ', '), 'null::text as none') from pg_attribute
    where attrelid = layer_table and attnum > 0 and not attisdropped and attname not in ('svc_id', 'geom', 'geom_3857');
end;
