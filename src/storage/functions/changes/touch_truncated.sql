-- Trigger of a layer's table: the whole layer is touched.
create or replace function touch_truncated() returns trigger language plpgsql as $$
begin
  insert into mapwright.layer_touch (layer_id, area) values (tg_argv[0]::bigint, null);
  if current_setting('mapwright.history', true) = 'off' then return null; end if;
  insert into mapwright.object_history (layer_id, op, login)
    values (tg_argv[0]::bigint, 'T', coalesce(current_setting('mapwright.login', true), ''));
  return null;
end $$;
