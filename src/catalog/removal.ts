import type { Log } from "../log.js";
import { creationLock, workLock } from "../storage/advisory-locks.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { deletedProject } from "./tree.js";

/**
 * The second step of a deletion: deletes what `discard.ts` has hidden, in portions, each in a transaction. If a process
 * ends before it is done, the next one continues.
 */

const intervalMs = 1_000;
/** Interval after an error that is likely to persist. */
const errorIntervalMs = 60_000;
/** Wait for a layer that is still read or written; it is tried again later. */
const lockTimeoutMs = 200;
const portionTimeoutMs = 60_000;
/** Bounds of a portion. Layers with generalization levels and search indexes have more relations (tables and indexes). */
const layersAtOnce = 50;
const relationsAtOnce = 400;
/** Layers may have millions of files, whose rows are deleted first. */
const filesAtOnce = 20_000;
/** How long `removeAll` waits without progress for layers that are locked by others. */
const stalledTimeoutMs = 10_000;

export interface Portion {
  /** Number of deleted rows of files, layers and maps. */
  readonly removed: number;
  /** Why layers could not be removed. */
  readonly reasons: readonly string[];
  /** Whether there is more to remove; undefined when another process is removing. */
  readonly left: boolean | undefined;
}

const isLeft = async (db: Queryable): Promise<boolean> =>
  (await db.query(`select 1 from map where project_id = ${deletedProject} limit 1`)).length > 0;

/** Removes one portion. Does nothing while another process does. */
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

/** Layers without derived layers, in random order, so that locked ones do not block the others. */
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
         select id, 5 + 8 * cardinality(bands)
           + (select coalesce(sum(4 * cardinality(t.bands)), 0) from thinning t where t.layer_id = ready.id)
           + (select count(*) from pg_index where indrelid = to_regclass('layers.l' || id)) as relations from ready) each
     ), tried as materialized (
       select case when pg_try_advisory_xact_lock(${creationLock("id")}) then remove_layer(id) else '' end as reason
       from counted where total - relations < ${relationsAtOnce}
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
 * Removes everything, or waits until another process has.
 * @returns false if the remaining layers are still locked by readers or writers
 * @throws Error when something cannot be removed
 */
export async function removeAll(db: Database): Promise<boolean> {
  let until = performance.now() + stalledTimeoutMs;
  for (;;) {
    const { removed, reasons, left } = await removePortion(db);
    if (left === false) return true;
    if (removed > 0 || left === undefined) until = performance.now() + stalledTimeoutMs;
    else if (reasons.length > 0) throw new Error(reasons.join(" "));
    else if (performance.now() > until) return false;
    if (removed === 0) await new Promise((resolve) => setTimeout(resolve, lockTimeoutMs));
  }
}

/** Removes what was deleted, at regular intervals. `stop` waits for the running portion. */
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
  const poll = async () => {
    let pauseMs = intervalMs;
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, "what was deleted could not be removed");
      pauseMs = errorIntervalMs;
    }
    if (!stopped) timer = setTimeout(again, pauseMs).unref();
  };
  const again = () => {
    running = poll();
  };
  let running = poll();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
