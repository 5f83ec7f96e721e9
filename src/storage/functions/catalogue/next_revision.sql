-- Revisions of maps and projects: after a restore the same numbers would be given out again for other changes. By how much
-- each is greater than the one before it is left to chance, so that it differs from what nodes remember.
create or replace function next_revision(revision bigint) returns bigint language sql volatile begin atomic
  select revision + 1 + floor(random() * 1048576)::bigint;
end;
