-- no transaction
-- See 035_large_shapes.sql.
call mapwright.make_runs_everywhere();
