-- Constraints of columns, changes of a column's type, and new room in a table that many columns have left.

-- Allowed values of columns. columns: ids of layer_column; the codes may change.
create table column_constraint (
  id int generated always as identity primary key,
  layer_id bigint not null references layer on delete cascade,
  type text not null check (type in ('enum', 'range', 'pattern')),
  name text not null default '',
  column_ids int[] not null,
  -- enum: the allowed values; range: [least, greatest], null = none; pattern: [regular expression]
  definition jsonb not null,
  sort int not null
);
create index column_constraint_layer on column_constraint (layer_id);
