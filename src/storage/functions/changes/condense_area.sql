-- A short list of boxes (at most 16) that covers the given ones. A coordinate that is no number, or infinite, has no place
-- that could be compared with those of tiles: such a box is the whole world. (PL/pgSQL keeps the plans of its statements; an
-- SQL function of this size is planned at each call, which an edit of one object would pay for.)
create or replace function condense_area(boxes double precision[]) returns double precision[] language plpgsql immutable as $$
declare
  unbounded constant double precision[] := '{NaN,Infinity,-Infinity}';
  world constant double precision[] :=
    '{-20037508.342789244,-20037508.342789244,20037508.342789244,20037508.342789244}';
begin
  if boxes && unbounded then
    boxes := (
      select array_agg(v order by i, place) from generate_series(1, cardinality(boxes), 4) i,
        unnest(case when boxes[i:i + 3] && unbounded then world else boxes[i:i + 3] end) with ordinality one (v, place));
  end if;
  if cardinality(boxes) <= 64 then return boxes; end if;
  return (
    with box as (
      select boxes[i] x0, boxes[i + 1] y0, boxes[i + 2] x1, boxes[i + 3] y1
      from generate_series(1, cardinality(boxes), 4) i
    ), whole as (
      select min(x0) x0, min(y0) y0, nullif(max(x1) - min(x0), 0) w, nullif(max(y1) - min(y0), 0) h from box
    ), cell as (
      select min(box.x0) x0, min(box.y0) y0, max(box.x1) x1, max(box.y1) y1
      from box, whole
      group by coalesce(least(3, floor(4 * ((box.x0 + box.x1) / 2 - whole.x0) / whole.w)), 0),
               coalesce(least(3, floor(4 * ((box.y0 + box.y1) / 2 - whole.y0) / whole.h)), 0)
    )
    select array_agg(v) from cell, unnest(array[x0, y0, x1, y1]) v);
end $$;
