-- after functions
-- functions: b5f2913c84526e5e09d4f75e58ffc7a0
-- Functions and triggers are in files of their own now, and are made anew when these change. What functions are asked for comes
-- after them.

alter table layer alter column version set default first_version();
alter table map alter column revision set default next_revision(0);
alter table project alter column revision set default next_revision(0);

insert into epoch (token, identity)
select new_epoch_token(), database_identity() where not exists (select from epoch);
