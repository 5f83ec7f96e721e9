-- Trigger: a member's row has the login of its account, which never changes, so that a project has one user of a login.
create or replace function membership_login() returns trigger language plpgsql set search_path from current as $$
begin
  select a.login into new.login from account a where a.id = new.account_id;
  return new;
end $$;

create or replace trigger membership_login before insert on membership for each row execute function membership_login();
