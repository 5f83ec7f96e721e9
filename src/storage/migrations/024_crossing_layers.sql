-- Whether objects of a layer lie beyond 180 degrees: those are drawn in each copy of the world that they touch.
alter table layer add column crosses_antimeridian boolean not null default false;
