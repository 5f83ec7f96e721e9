-- Makes all bands of a thinning anew, in their tables.
create or replace function rebuild_thinning(spec thinning) returns void language plpgsql set search_path from current as $$
declare
  name text := format('l%s', spec.layer_id);
  zoom int;
  finer int;
begin
  for zoom in select band from unnest(spec.bands) band order by band desc loop
    execute format('delete from layers.%I', format('%s_p%s_z%s', name, spec.number, zoom));
    execute format('insert into layers.%I %s', format('%s_p%s_z%s', name, spec.number, zoom), thinned_sql(
      case when finer is null then points_sql('layers', name, spec, zoom)
      else coarser_sql(format('layers.%I', format('%s_p%s_z%s', name, spec.number, finer)), finer - zoom) end, spec, zoom));
    finer := zoom;
  end loop;
  perform sample_classes('layers', name, spec, null);
end $$;
