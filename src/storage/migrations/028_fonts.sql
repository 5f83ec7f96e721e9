-- Fonts for styles. Their bytes are blobs, written anew by the server with outlines and what places them.
create table font (
  project_id int not null references project on delete cascade,
  path text not null,
  blob uuid not null,
  -- Hash of what labels are drawn with, and the family that the blob itself names: a changed font makes new tiles.
  digest text not null,
  format text not null check (format in ('ttf', 'otf')),
  -- Names that styles have for it.
  names text[] not null,
  bytes bigint not null,
  changed_at timestamptz not null default now(),
  primary key (project_id, path)
);
create index font_blob on font (blob);
