-- SQL of the points of a layer's table as rows x, y, bits, svc_id, geom. What is no single point is always drawn: bit 62.
-- (`offset 0`: each expression is evaluated once.)
create or replace function points_sql(schema_name text, table_name text, spec thinning, zoom int, condition text default 'true') returns text
language sql stable set search_path from current as $$
  select format('select pixel_of(st_xmin(o$.geom_3857), %1$s) as x, pixel_of(st_ymin(o$.geom_3857), %1$s) as y,
      case when st_geometrytype(o$.geom_3857) = ''ST_Point'' then %2$s else (%2$s) | (1::bigint << 62) end as bits,
      o$.svc_id, o$.geom_3857 as geom
    from %3$I.%4$I o$ where o$.geom_3857 is not null and %5$s offset 0', zoom, spec.bits, schema_name, table_name, condition)
$$;
