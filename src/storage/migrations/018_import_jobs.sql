-- Imports that go on after their request was answered. Any node tells how they are, and rows are kept for a day.
create table import_job (
  id uuid primary key,
  -- Who started it: nobody else may see it.
  account_id bigint not null,
  project_id bigint not null,
  layer_id bigint not null,
  state text not null default 'running' check (state in ('running', 'done', 'failed', 'cancelled')),
  phase text not null default 'waiting',
  -- Features that were read so far.
  rows bigint not null default 0,
  -- What it has done, or why it failed, as JSON.
  outcome text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  -- The node that runs it renews this while it lives.
  seen_at timestamptz not null default now()
);
create index import_job_project_id on import_job (project_id, created_at);
create index import_job_created_at on import_job (created_at);
