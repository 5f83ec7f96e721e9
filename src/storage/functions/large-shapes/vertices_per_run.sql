-- Lines and polygons of many vertices are read from runs of so many of them.
create or replace function vertices_per_run() returns int language sql immutable parallel safe return 256;
