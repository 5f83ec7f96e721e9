-- Search: the column whose value tells objects of one name apart, such as the country of towns.
alter table search_setting add column detail_column_id int references layer_column on delete set null;
create index search_setting_detail_column on search_setting (detail_column_id) where detail_column_id is not null;
