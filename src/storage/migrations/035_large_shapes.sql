-- Lines and polygons of many vertices are read from runs of 256 of them, so that a tile reads those that lie in it. What a
-- run has elsewhere is drawn as its chord: both stay in the run's box, so nothing of either is seen in a tile that the box
-- does not meet, and inside and outside remain what they are, also of rings that cross themselves.
--
-- The table layers.l<id>_c has them: part and ring of the geometry (-1: the part is a line), the run's number in the ring, the
-- boxes of all three, the first vertex, and all of them with the first one of the next run. From a geometry itself each of
-- these would be had only by reading all of it.

alter table layer add column has_runs boolean not null default false;
