-- The id of the installation, which its store of blobs carries, too: a store with another one, or with none, is not the one that
-- the rows of this database tell of. The first node that finds both new makes it.
create table installation (
  only_row boolean primary key default true check (only_row),
  id uuid not null
);
