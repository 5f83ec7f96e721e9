-- expands
-- functions: b7796b2e8f974b5855a96b3f249732f3
-- Keys that last: each has an account of its own, which has no role and no password, and one grant.
create table access_key (
  account_id int primary key references account on delete cascade,
  project_id int not null references project on delete cascade,
  name text not null,
  -- SHA-256 of the key, as base64url.
  hash text not null unique,
  created_at timestamptz not null default now(),
  -- Login of the user who made it, who may be gone; '' = the operator.
  created_by text not null,
  -- null = never.
  ends_at timestamptz,
  last_used_at timestamptz
);
create index access_key_project on access_key (project_id);
