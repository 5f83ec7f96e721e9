-- Cuts the bytes of the vertices: as a line of each ring, they are 16 bytes each after a head of 9.
create or replace function runs_of(g geometry)
returns table (part int, ring int, run int, shape_box box, ring_box box, run_box box, start geometry, line geometry)
language sql immutable parallel safe set search_path from current as $$
  with shape as materialized (
    select box(g) as shape_box
  ), ring as (
    select coalesce(d.path[1], 1) as part, r.path[1] as ring, st_exteriorring(r.geom) as line
      from st_dump(st_force2d(g)) d, st_dumprings(d.geom) r where st_dimension(g) = 2
    union all
    select coalesce(d.path[1], 1), -1, d.geom from st_dump(st_force2d(g)) d where st_dimension(g) = 1
  ), bytes as (
    select part, ring, box(line) as ring_box, st_npoints(line) as vertices, st_asbinary(line, 'NDR') as wkb
      from ring where st_npoints(line) > 1 offset 0
  )
  select part, ring, run, shape_box, ring_box, box(line), st_startpoint(line), line
  from (
    -- The last run takes what is left: alone, one vertex would be no line.
    select part, ring, run, ring_box, st_geomfromwkb('\x0102000000'::bytea
        || set_byte(set_byte('\x00000000'::bytea, 0, length & 255), 1, length >> 8)
        || substring(wkb from 10 + 16 * vertices_per_run() * run for 16 * length), 3857) as line
    from bytes, lateral (select greatest(0, (vertices - 3) / vertices_per_run()) as last_run) r,
      generate_series(0, last_run) run,
      lateral (select case run when last_run then vertices - vertices_per_run() * run else vertices_per_run() + 1 end as length) l
    offset 0
  ) cut, shape
$$;
