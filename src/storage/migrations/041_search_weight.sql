-- Search: the column of numbers by which objects that match as well as others are ordered, such as the population.
alter table search_setting add column weight_column_id int references layer_column on delete set null;
create index search_setting_weight_column on search_setting (weight_column_id) where weight_column_id is not null;
