-- How many objects of a large layer have which values, kept up by triggers of the layer's table, so that the class borders of
-- its visualization follow an edit without a look at all objects.
--
-- A tally divides the values of an expression into buckets: of numbers by ascending bounds (bucket i: from the i-th bound up to
-- the next one; 0: below the first), of others by keys (bucket i: the i-th key, 0: any other). Bucket -1 has no value.
-- Edits only add rows, so writers of a layer never wait for each other; those who read put rows together.

create table visual_tally (
  id bigint generated always as identity primary key,
  layer_id bigint not null unique references layer on delete cascade,
  column_id bigint not null,
  -- What is counted: a hash of the expression and the keys.
  key text not null,
  -- Of the layer's table: one that was emptied, written anew or replaced has another, and is counted anew.
  filenode bigint not null,
  bounds double precision[] not null
);

create table visual_tally_count (
  tally_id bigint not null,
  bucket int not null,
  n bigint not null
);
create index visual_tally_count_tally on visual_tally_count (tally_id);
