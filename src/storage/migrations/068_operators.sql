-- expands
-- functions: 21a4222aad814d07e50310b3fea924b2
-- Operators administer the installation: in the console and by the API, as commands do on its machine.
alter table account add column is_operator boolean not null default false;
-- What projects take of the disks, as it was last measured, and the most that they may take.
create table project_disk_use (
  project_id int primary key references project on delete cascade,
  -- null = it was not measured yet.
  bytes bigint,
  measured_at timestamptz,
  -- null = as much as there is.
  most_bytes bigint check (most_bytes > 0)
);
