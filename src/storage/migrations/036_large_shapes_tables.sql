-- after functions
-- no transaction
-- Of layers that are there already. See 035_large_shapes.sql.
call mapwright.make_runs_everywhere();
