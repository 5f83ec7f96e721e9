-- Pictures for styles. Their bytes are blobs, written anew by the server: PNG, or SVG with nothing but shapes.
create table picture (
  project_id int not null references project on delete cascade,
  -- As in url(…) of the project's styles.
  path text not null,
  blob uuid not null,
  -- SHA-256 of the blob: equal pictures are drawn from one file, and a changed one makes new tiles.
  digest text not null,
  format text not null check (format in ('png', 'svg')),
  -- In pixels.
  width double precision not null,
  height double precision not null,
  bytes bigint not null,
  changed_at timestamptz not null default now(),
  primary key (project_id, path)
);
create index picture_blob on picture (blob);
