-- A name that no other history of a database has.
create or replace function new_epoch_token() returns text language sql volatile begin atomic
  select left(replace(gen_random_uuid()::text, '-', ''), 12);
end;
