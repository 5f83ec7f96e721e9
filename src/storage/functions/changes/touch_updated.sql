-- Trigger of a layer's table: notes the boxes of the rows as they were and as they are, and what of them has changed.
create or replace function touch_updated() returns trigger language plpgsql as $$
declare
  n bigint;
  boxes double precision[];
  -- Numbers of boxes: of few objects. For these a statement need not be planned anew, which costs more than the rest.
  few constant bigint := 80;
  old_row record;
  new_row record;
  was jsonb;
  is_now jsonb;
  sent_by text;
begin
  select count(*), array_agg(v) into n, boxes
  from (select geom_3857 as g from old_rows union all select geom_3857 from new_rows) r
  left join lateral unnest(mapwright.box_numbers(g)) v on g is not null;
  if n = 0 then return null; end if;
  insert into mapwright.layer_touch (layer_id, area)
    values (tg_argv[0]::bigint, mapwright.condense_area(coalesce(boxes, '{}')));
  if current_setting('mapwright.history', true) = 'off' then return null; end if;
  sent_by := coalesce(current_setting('mapwright.login', true), '');
  -- The columns of both side by side are no more than PostgreSQL's rows may have, which are 1,664.
  if n <= few or (select relnatts from pg_class where oid = tg_relid) > 800 then
    for old_row in select * from old_rows loop
      select * into new_row from new_rows r where r.svc_id = old_row.svc_id;
      continue when not found;
      was := case when old_row.geom::bytea is distinct from new_row.geom::bytea
        then jsonb_build_object('geom', old_row.geom::text) else '{}' end;
      is_now := case when was <> '{}' then jsonb_build_object('geom', new_row.geom::text) else '{}' end;
      old_row.geom := null; old_row.geom_3857 := null;
      new_row.geom := null; new_row.geom_3857 := null;
      select was || coalesce(jsonb_object_agg(b.key, b.value), '{}'), is_now || coalesce(jsonb_object_agg(b.key, a.value), '{}')
        into was, is_now
        from jsonb_each(to_jsonb(old_row)) b join jsonb_each(to_jsonb(new_row)) a using (key)
        where a.value is distinct from b.value;
      if was <> '{}' then
        insert into mapwright.object_history (layer_id, object_id, op, before, after, login)
          values (tg_argv[0]::bigint, old_row.svc_id, 'u', was, is_now, sent_by);
      end if;
    end loop;
    return null;
  end if;
  -- Of many, the values of all columns in which any of them differs.
  execute mapwright.changed_columns_sql(tg_relid) into was;
  execute format($q$
    insert into mapwright.object_history (layer_id, object_id, op, before, after, login)
    select %L, svc_id, 'u', was, is_now, %L from (
      select o.svc_id, to_jsonb((select ob from (select %s) ob)) as was, to_jsonb((select nb from (select %s) nb)) as is_now
      from old_rows o join new_rows n using (svc_id)) changed where was is distinct from is_now$q$,
    tg_argv[0], sent_by, mapwright.named_columns(was, 'o'), mapwright.named_columns(was, 'n'));
  return null;
end $$;
