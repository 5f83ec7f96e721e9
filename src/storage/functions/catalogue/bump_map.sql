-- Announces a change of a map's catalogue. Serving nodes reload the map before they answer for it again.
create or replace function bump_map(id_of_map bigint) returns void language sql begin atomic
  update map set revision = revision + 1 where id = id_of_map;
end;
