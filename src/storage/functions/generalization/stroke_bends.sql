-- Area that strokes take at the bends of a line that is smaller than the stroke's width, in squares of that width: at each bend
-- the outer corner of the joint. Together no more than about a disc.
create or replace function stroke_bends(g geometry) returns float8 language sql immutable strict parallel safe set search_path from current as $$
  select least(0.8, coalesce(sum(least(tan(turn / 2), 3.9) / 4) filter (where turn is not null), 0)) from (
    select abs(pi() - abs(pi() - mod((next - lag(next) over path + 4 * pi())::numeric, (2 * pi())::numeric)::float8)) as turn from (
      select path[1:cardinality(path) - 1] as path, path[cardinality(path)] as place,
        st_azimuth(geom, lead(geom) over (partition by path[1:cardinality(path) - 1] order by path[cardinality(path)])) as next
      from st_dumppoints(g)
    ) heading where next is not null window path as (partition by path order by place)
  ) turns
$$;
