import { failed } from "../errors.js";
import { workLock } from "../storage/advisory-locks.js";
import type { Database, Queryable } from "../storage/postgres.js";

/**
 * What projects take of the disks, and may take at most. It is measured now and then, so that a project may go beyond its limit by
 * what is added meanwhile.
 */

/** How old a measurement gets: of projects with a limit, and of others. */
const limitedFor = "1 minute";
const unlimitedFor = "10 minutes";
/** Projects that one turn measures: those that were measured longest ago. */
const measuredAtOnce = 100;

/**
 * Measures what is due: tables of layers with their indexes, images, attached files, pictures and fonts; of histories nothing, which
 * have a bound of their own. One node at a time does so.
 */
export function measureProjects(db: Database): Promise<void> {
  return db.transaction(async (tx) => {
    const [lock] = await tx.query<{ held: boolean }>(
      `select pg_try_advisory_xact_lock(${workLock.diskUse}) as held`,
    );
    if (!lock!.held) return;
    // A table that is being changed is looked at the next time.
    await tx.query("select set_config('lock_timeout', '500ms', true)");
    await tx.query(
      `with due as (
         select p.id from project p left join project_disk_use u on u.project_id = p.id
         where u.measured_at is null
           or u.measured_at < now() - case when u.most_bytes is null then interval '${unlimitedFor}' else interval '${limitedFor}' end
         order by u.measured_at nulls first limit ${measuredAtOnce}
       ), layers as materialized (
         select n.id, m.project_id from due join map m on m.project_id = due.id join node n on n.map_id = m.id
         where n.type <> 'folder'
       ), tables as materialized (
         select c.oid, substring(c.relname from '^l([0-9]{1,18})(?:_|$)')::bigint as layer_id from pg_class c
         where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r'
       )
       insert into project_disk_use (project_id, bytes, measured_at)
       select due.id, (
           select coalesce(sum(pg_total_relation_size(t.oid)), 0)
           from layers l join tables t on t.layer_id = l.id where l.project_id = due.id
         ) + (
           select coalesce(sum(f.bytes), 0) from layers l join file f on f.layer_id = l.id where l.project_id = due.id
         ) + (
           select coalesce(sum(r.original_bytes + r.processed_bytes), 0)
           from layers l join raster r on r.layer_id = l.id where l.project_id = due.id
         ) + (select coalesce(sum(bytes), 0) from picture where project_id = due.id)
           + (select coalesce(sum(bytes), 0) from font where project_id = due.id), now()
       from due
       on conflict (project_id) do update set bytes = excluded.bytes, measured_at = excluded.measured_at`,
    );
  });
}

/** Sets what a project may take at most. @param mostBytes null = as much as there is */
export const setMostBytes = (db: Queryable, project: number, mostBytes: number | null): Promise<unknown> =>
  db.execute(
    `insert into project_disk_use (project_id, most_bytes) values ($1, $2)
     on conflict (project_id) do update set most_bytes = excluded.most_bytes`,
    [project, mostBytes],
  );

/** The projects that have used up what they may take, as a node has last read them. */
export class FullProjects {
  private ids: ReadonlySet<number> = new Set();

  constructor(private readonly db: Queryable) {}

  async read(): Promise<void> {
    const rows = await this.db.query<{ id: number }>(
      "select project_id as id from project_disk_use where bytes >= most_bytes",
    );
    this.ids = new Set(rows.map(({ id }) => id));
  }

  /** For what adds to a project. @throws Failure project_full */
  requireRoom(project: { readonly id: number }): void {
    if (this.ids.has(project.id))
      throw failed(
        "project_full",
        "This project has used up its room on the server: delete what is not needed, or ask who runs the server for more.",
      );
  }
}
