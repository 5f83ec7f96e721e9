-- Search: what every node compares instead of the texts themselves, and which columns of a map are searched.

-- Which columns of which layers are searched for objects, in order; a map without rows has the default set.
create table search_setting (
  map_id bigint not null references map on delete cascade,
  place int not null,
  layer_id bigint not null references layer on delete cascade,
  search_column_id int not null references layer_column on delete cascade,
  name_column_id int not null references layer_column on delete cascade,
  priority double precision,
  primary key (map_id, place)
);
create index search_setting_layer on search_setting (layer_id);
create index search_setting_search_column on search_setting (search_column_id);
create index search_setting_name_column on search_setting (name_column_id);
