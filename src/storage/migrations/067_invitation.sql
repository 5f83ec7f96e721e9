-- expands
-- functions: 21a4222aad814d07e50310b3fea924b2
-- A link by which a user of a project chooses a password, once.
create table invitation (
  account_id int primary key,
  project_id int not null,
  -- SHA-256 of the secret in the link, as base64url.
  hash text not null unique,
  ends_at timestamptz not null,
  foreign key (project_id, account_id) references membership on delete cascade
);
create index invitation_project on invitation (project_id);
