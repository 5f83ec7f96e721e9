-- Where the geometry is moved to before it is projected, and back: whole turns where that is enough, since they change no
-- digit.
create or replace function beyond_shift(xmin double precision, xmax double precision, half double precision)
returns double precision language sql immutable parallel safe begin atomic
  select case when xmin >= half then 2 * half when xmax <= -half then -2 * half else (xmin + xmax) / 2 end;
end;
