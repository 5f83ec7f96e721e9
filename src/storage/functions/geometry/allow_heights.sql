-- A layer's table of before becomes like new ones: catalogue entries alone, and statistics, which a change of type drops.
-- Views over the table know the type of its columns, so they are made anew, with the rights on them.
create or replace function allow_heights(layer_table regclass) returns void language plpgsql as $$
declare
  views record;
  statement text;
begin
  with recursive dependent (view, depth) as (
    select r.ev_class, 1 from pg_depend d join pg_rewrite r on r.oid = d.objid
      where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = layer_table
        and r.ev_class <> layer_table
    union
    select r.ev_class, depth + 1 from dependent
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
        and d.refobjid = dependent.view
      join pg_rewrite r on r.oid = d.objid and r.ev_class <> dependent.view
  ), ordered as (
    select view, max(depth) as depth from dependent group by view
  ), told as (
    select format('%I.%I', n.nspname, c.relname) as name, depth, relacl, relowner, pg_get_viewdef(c.oid) as definition
    from ordered join pg_class c on c.oid = view join pg_namespace n on n.oid = c.relnamespace
  )
  select string_agg(name, ', ') as names,
      array_agg(format('create view %s as %s', name, definition) order by depth) || coalesce((
        select array_agg(format('grant %s on %s to %s', privilege_type, name,
          case when grantee = 0 then 'public' else grantee::regrole::text end))
        from told, aclexplode(relacl) where grantee <> relowner), '{}') as statements
    into views from told;
  if views.names is not null then execute format('drop view %s', views.names); end if;
  execute format('alter table %s alter column geom_3857 drop expression', layer_table);
  execute format('alter table %s alter column geom type geometry', layer_table);
  perform mapwright.guard_geometry(relname) from pg_class where oid = layer_table;
  foreach statement in array coalesce(views.statements, '{}') loop
    execute statement;
  end loop;
  execute format('analyze %s (geom)', layer_table);
end $$;
