-- What the bands of lines and polygons leave out as too small leaves its area behind: the tables layers.l<id>_g<band> tell
-- for each pixel how many such objects there are, how large they are together, and where some of them are. The sums are
-- whole numbers, so that what is added and taken away again leaves nothing.

-- Bands that are much lighter than the objects also with what is drawn under strokes: a square for each known place of a
-- small object. Styles with strokes are served by those only. null = there are no tables of small objects.
alter table layer add column gathered int[];

-- dimension: 1 = lines, 2 = polygons; x, y: pixel of the middle of the object's box; size: length in 2^-36 pixels, or area in
-- 2^-36 square pixels; sx, sy: sums of where in the pixel those middles are, in 1/256; ids: of the objects.
create type gathered as (dimension int, x int, y int, n bigint, size bigint, sx bigint, sy bigint, ids bigint[]);

-- What a transaction has added or taken away. As layer_touch, it is empty to everyone else.
create unlogged table gather_touch (
  transaction_id xid8 not null default pg_current_xact_id(),
  layer_id bigint not null,
  band int not null,
  sums gathered not null
);
create index gather_touch_transaction on gather_touch (transaction_id);
