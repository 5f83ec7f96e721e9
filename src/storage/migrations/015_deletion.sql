-- What is deleted is at once nowhere to be found, and then taken away in portions: to drop a layer's table takes some
-- twenty locks until the transaction ends, and the server has room for a limited number of them, for everybody together.

-- Deleted maps belong to this project until nothing is left of them, and so do deleted folders and layers, each in a map
-- of its own. No code of a project is like its code.
insert into project (id, code, hidden) overriding system value values (0, '(deleted)', true);
