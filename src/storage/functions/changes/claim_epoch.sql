-- The token of this database's history: a new one when the database is not the one that it was made for, or when somebody
-- has found that the history of `refuted` is not this one. (Files that were put back as they had been do not show it.)
create or replace function claim_epoch(refuted text) returns text language plpgsql set search_path from current as $$
declare
  now_token text;
begin
  update epoch set token = new_epoch_token(), identity = database_identity()
    where identity <> database_identity() or token = refuted;
  select token into now_token from epoch;
  return now_token;
end $$;
