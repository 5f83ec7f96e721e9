-- expands
-- functions: 2c758822cdea334b15afdd29c4b7283e
-- What of a map is seen at first: west, south, east, north in degrees. East beyond 180 is across that meridian. null = all of its
-- data. The history of maps tells of it, and puts it back.
alter table map add column start_view double precision[] check (
  array_ndims(start_view) = 1 and cardinality(start_view) = 4 and array_position(start_view, null) is null
  and start_view[1] between -180 and 180 and start_view[3] > start_view[1] and start_view[3] <= start_view[1] + 360
  and start_view[2] >= -90 and start_view[4] > start_view[2] and start_view[4] <= 90);
