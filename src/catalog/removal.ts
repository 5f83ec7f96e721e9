import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { deletedProject } from "./tree.js";

/**
 * The second half of a deletion: takes away what `discard.ts` put aside, in portions, each a transaction. What one process
 * leaves undone, whatever became of it, the next one finds.
 */

const everyMs = 1_000;
/** When it is tried again after something that time alone may not mend. */
const failedMs = 60_000;
/** How long a layer that is still read or written is waited for; it has its turn again later. */
const lockTimeoutMs = 200;
const portionTimeoutMs = 60_000;
/** Layers of one portion, and their tables and indexes: layers with bands and indexes of search are fewer. */
const layersAtOnce = 50;
const relationsAtOnce = 400;
/** Layers may have millions of files, whose rows go first. */
const filesAtOnce = 20_000;
/** How long the last layers of all may be held by somebody before they are left to others. */
const patienceMs = 10_000;

export interface Portion {
  /** How many rows of files, layers and maps are gone now. */
  readonly removed: number;
  /** Why layers cannot be removed. */
  readonly reasons: readonly string[];
  /** Whether there is more to do; undefined when another process is at it. */
  readonly left: boolean | undefined;
}

const isLeft = async (db: Queryable): Promise<boolean> =>
  (await db.query(`select 1 from map where project_id = ${deletedProject} limit 1`)).length > 0;

/** One portion; of several processes only one works at a time. */
export async function removePortion(db: Database): Promise<Portion> {
  if (!(await isLeft(db))) return { removed: 0, reasons: [], left: false };
  return db.transaction(async (tx) => {
    const [lock] = await tx.query<{ free: boolean }>(
      `select pg_try_advisory_xact_lock(${workLock.removal}) as free`,
    );
    if (!lock!.free) return { removed: 0, reasons: [], left: undefined };
    await tx.execute(`set local lock_timeout = ${lockTimeoutMs}`);
    await tx.execute(`set local statement_timeout = ${portionTimeoutMs}`);
    const files = await removeFiles(tx);
    if (files > 0) return { removed: files, reasons: [], left: true };
    const { layers, reasons } = await removeLayers(tx);
    const maps = await removeMaps(tx);
    return { removed: layers + maps, reasons, left: await isLeft(tx) };
  });
}

const removeFiles = (tx: Queryable): Promise<number> =>
  tx.execute(
    `delete from file where id in (
       select f.id from map m join node n on n.map_id = m.id join file f on f.layer_id = n.id
       where m.project_id = ${deletedProject} limit ${filesAtOnce})`,
  );

/** Any that nothing is made from any more, so that one which is held for long does not keep the others from their turn. */
async function removeLayers(
  tx: Queryable,
): Promise<{ readonly layers: number; readonly reasons: readonly string[] }> {
  const [row] = await tx.query<{ layers: number; reasons: string[] }>(
    `with ready as materialized (
       select l.id, l.bands from map m join node n on n.map_id = m.id join layer l on l.id = n.id
       where m.project_id = ${deletedProject} and not exists (select from layer made where made.source_id = l.id)
       order by random() limit ${layersAtOnce}
     ), counted as (
       select id, relations, sum(relations) over (order by id) as total from (
         select id, 5 + 5 * cardinality(bands)
           + (select count(*) from pg_index where indrelid = to_regclass('layers.l' || id)) as relations from ready) each
     ), tried as materialized (
       select remove_layer(id) as reason from counted where total - relations < ${relationsAtOnce}
     )
     select count(*) filter (where reason is null) as layers,
       coalesce(array_agg(distinct reason) filter (where reason <> ''), '{}') as reasons
     from tried`,
  );
  return row!;
}

/** Maps without layers, with their folders. */
const removeMaps = (tx: Queryable): Promise<number> =>
  tx.execute(
    `delete from map m where project_id = ${deletedProject}
       and not exists (select from node n where n.map_id = m.id and n.type <> 'folder')`,
  );

/**
 * Removes until nothing is left, by itself or together with another process.
 * @returns whether that was reached; false when somebody still reads or writes objects of what is left
 * @throws Error when something cannot be removed
 */
export async function removeAll(db: Database): Promise<boolean> {
  let until = performance.now() + patienceMs;
  for (;;) {
    const { removed, reasons, left } = await removePortion(db);
    if (left === false) return true;
    if (removed > 0 || left === undefined) until = performance.now() + patienceMs;
    else if (reasons.length > 0) throw new Error(reasons.join(" "));
    else if (performance.now() > until) return false;
    if (removed === 0) await new Promise((resolve) => setTimeout(resolve, lockTimeoutMs));
  }
}

/** Looks now and then for something to remove until it is stopped, which waits for the running portion. */
export function startRemoval(db: Database, log: Log): { stop(): Promise<void> } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const work = async () => {
    for (;;) {
      const { removed, reasons, left } = await removePortion(db);
      if (removed > 0 && left && !stopped) continue;
      if (reasons.length > 0) throw new Error(reasons.join(" "));
      return;
    }
  };
  const look = async () => {
    let pauseMs = everyMs;
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, "what was deleted could not be removed");
      pauseMs = failedMs;
    }
    if (!stopped) timer = setTimeout(again, pauseMs).unref();
  };
  const again = () => {
    running = look();
  };
  let running = look();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
