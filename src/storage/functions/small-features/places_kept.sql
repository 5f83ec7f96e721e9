-- Of so many objects in each pixel it is known where they are: under strokes of a pixel's width, more would not be seen.
create or replace function places_kept() returns int language sql immutable parallel safe return 8;
