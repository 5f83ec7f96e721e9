-- A login belongs to a project: in two projects it is two accounts, unless one account has a role in both. Accounts that had
-- roles in several keep them.
alter table account drop constraint account_login_key;
create index account_login on account (login);

-- A copy of the account's, which never changes: a project has one user of a login.
alter table membership add column login text;
update membership m set login = a.login from account a where a.id = m.account_id;
alter table membership alter column login set not null, add constraint membership_login unique (project_id, login);
