-- What is made in the background, or by imports, may take several processes of the database, though sessions take one each.
alter function make_bands(text, text) set max_parallel_workers_per_gather = 2;
alter function thin_points(bigint) set max_parallel_workers_per_gather = 2;
alter function note_crowds(bigint) set max_parallel_workers_per_gather = 2;
