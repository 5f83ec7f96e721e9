import { failed } from "../errors.js";
import { workLock } from "../storage/advisory-locks.js";
import type { Database, Queryable } from "../storage/postgres.js";

/**
 * What projects take of the disks, and may take at most. It is measured now and then, so that a project may go beyond its limit by
 * what is added meanwhile.
 */

/** Of a project p and its last measurement u: how old that gets, with a limit (nodes look every minute) and without. */
const isDue = `(u.measured_at is null or u.measured_at < now() - case when u.most_bytes is null
  then interval '10 minutes' else interval '50 seconds' end)`;
/** Projects that one turn measures: those that were measured longest ago. */
const measuredAtOnce = 100;

/**
 * Measures what is due: tables of layers with their indexes, images, attached files, pictures and fonts, also of what is in the bin; of
 * histories nothing, which have a bound of their own. One node at a time does so. A project that is deleted meanwhile, or a table of which somebody changes just
 * now, is left to the next time, and keeps no others from being measured.
 */
export async function measureProjects(db: Database): Promise<void> {
  const due = await db.query<{ id: number }>(
    `select p.id from project p left join project_disk_use u on u.project_id = p.id
     where not p.hidden and ${isDue} order by u.measured_at nulls first limit ${measuredAtOnce}`,
  );
  for (const { id } of due) if ((await measureProject(db, id)) === "another") return;
}

/** @returns another = another node measures just now */
async function measureProject(db: Database, project: number): Promise<"done" | "another"> {
  try {
    return await db.transaction(async (tx) => {
      const [lock] = await tx.query<{ held: boolean }>(
        `select pg_try_advisory_xact_lock(${workLock.diskUse}) as held`,
      );
      if (!lock!.held) return "another";
      await tx.query("select set_config('lock_timeout', '500ms', true)");
      await tx.query(
        // The names of tables as ranges, which the index of pg_class finds: it may have hundreds of thousands.
        `with layers as materialized (
           select n.id from node n where n.type <> 'folder' and n.map_id in (
             select m.id from map m where m.project_id = $1 union all select b.holder_id from bin b where b.project_id = $1
           )
         )
         insert into project_disk_use as u (project_id, bytes, measured_at)
         select p.id, (
             select coalesce(sum(pg_total_relation_size(t.oid)), 0) from layers l cross join lateral (
               select c.oid from pg_class c
               where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname = ('l' || l.id)::name
               union all
               select c.oid from pg_class c
               where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r'
                 and c.relname > ('l' || l.id || '_')::name and c.relname < ('l' || l.id || '\`')::name
             ) t
           ) + (select coalesce(sum(f.bytes), 0) from layers l join file f on f.layer_id = l.id)
             + (select coalesce(sum(r.original_bytes + r.processed_bytes), 0) from layers l join raster r on r.layer_id = l.id)
             + (select coalesce(sum(bytes), 0) from picture where project_id = p.id)
             + (select coalesce(sum(bytes), 0) from font where project_id = p.id), now()
         from project p where p.id = $1
         on conflict (project_id) do update set bytes = excluded.bytes, measured_at = excluded.measured_at
           where ${isDue}`,
        [project],
      );
      return "done";
    });
  } catch (error) {
    if (isPassing.has((error as { code?: string }).code)) return "done";
    throw error;
  }
}

/** foreign_key_violation, lock_not_available */
const isPassing: ReadonlySet<string | undefined> = new Set(["23503", "55P03"]);

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
        "This project has used up its room on the server: delete what is not needed, also from the bin, or ask who runs the server for more.",
      );
  }
}
