-- Instances of the edge that have missed something, and since when. They drop everything before they are trusted again.
create table edge_behind (
  instance text primary key,
  since timestamptz not null default clock_timestamp()
);

-- When the edge had last been told of all that had changed.
alter table edge add told_at timestamptz not null default now();
