-- How crowded a layer is, so that fewer tiles are drawn at once where there is much to draw.

-- For each zoom from 0 to 14, how many other objects an object has in its square of 4 x 4 tiles, on average. From a sample;
-- null = the layer is small, or nobody has looked yet.
alter table layer add column crowds real[];
-- Rows that the layer had when it was looked at.
alter table layer add column crowds_rows real;
