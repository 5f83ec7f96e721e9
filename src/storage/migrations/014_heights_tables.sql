-- after functions
-- no transaction
-- Geometry is kept with the heights that it is sent with; measures (M) have no place in it. What is drawn is flat.
--
-- No type modifier of PostGIS means "with heights or without", so `geom` has checks instead. PostgreSQL changes the
-- type of no column that a generated one is made from, and makes no column generated without writing the table anew:
-- so `geom_3857` is kept up by a trigger. Tables of before become so here, without being written. What a broken run
-- leaves is done by the next one.
call mapwright.allow_heights_everywhere();
