-- Revisions of maps and projects: after a restore the same numbers would be given out again for other changes. By how much
-- each is greater than the one before it is left to chance, so that it differs from what nodes remember.
create function next_revision(revision bigint) returns bigint language sql volatile begin atomic
  select revision + 1 + floor(random() * 1048576)::bigint;
end;
alter table map alter column revision set default next_revision(0);
alter table project alter column revision set default next_revision(0);

create or replace function map_changed() returns trigger language plpgsql set search_path from current as $$
begin
  new.revision := next_revision(old.revision);
  return new;
end $$;

create or replace function project_changed() returns trigger language plpgsql set search_path from current as $$
begin
  new.revision := next_revision(old.revision);
  return new;
end $$;
