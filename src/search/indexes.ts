import { LRUCache } from "lru-cache";
import pg from "pg";
import { layerTable } from "../catalog/layer-table.js";
import { type Clock, systemClock } from "../clock.js";
import type { Statement } from "../features/sql.js";
import { Overruns } from "../hosts/overruns.js";
import type { Log } from "../log.js";
import { importLock, workLock } from "../storage/advisory-locks.js";
import { giveUp } from "../storage/give-up.js";
import type { Database } from "../storage/postgres.js";
import type { WorkSession } from "../storage/work-sessions.js";
import { foldOf, indexNames, orderOf, termsOf, valuesOf } from "./column-indexes.js";
import {
  type ColumnPlace,
  type ColumnStatistics,
  indexedValues,
  readStatistics,
} from "./column-statistics.js";

/**
 * Creates indexes of searched columns when a layer has grown or search settings change, and drops unused ones. It runs
 * in the background, one column after the other, on one node at a time, and does not block reads and writes of objects.
 * The required indexes are determined from the database on each run, so no change is missed.
 */
export interface SearchIndexes {
  /** Starts a run, or another one after the current run. */
  kick(): void;
  /** Resolves when no run is active. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const intervalMs = 30_000;
/** Delay of the next run when a layer was locked by an import. */
const retryMs = 1_000;
/** Indexes are dropped below this size: well below `indexedValues`, to avoid repeated creation and deletion. */
const keptValues = indexedValues / 4;
const lockNotAvailable = "55P03";
/** Maximum indexed columns per layer, for maps without search settings. Others are searched as far as time permits. */
const maxColumnsPerLayer = 8;

interface WantedColumn extends ColumnPlace {
  readonly isLocalised: boolean;
}

export function keepSearchIndexes(
  db: Database,
  log: Log,
  clock: Pick<Clock, "now"> = systemClock,
): SearchIndexes {
  const failures = new Failures(log, clock);
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let session: WorkSession | undefined;

  let retry: NodeJS.Timeout | undefined;

  const pass = async () => {
    session = await db.working();
    try {
      const incomplete = await adjustIndexes(session, { stopped: () => stopped, log, failures });
      clearTimeout(retry);
      if (incomplete) retry = setTimeout(kick, retryMs).unref();
    } finally {
      await session.end();
      session = undefined;
    }
  };
  const work = async () => {
    do {
      again = false;
      try {
        await pass();
      } catch (error) {
        if (!stopped) log.warn({ err: error }, "the indexes of search could not be adjusted");
      }
    } while (again && !stopped);
    running = undefined;
  };
  const kick = () => {
    if (stopped) return;
    again = true;
    running ??= work();
  };
  const timer = setInterval(kick, intervalMs);
  timer.unref();
  return {
    kick,
    idle: async () => running,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      clearTimeout(retry);
      // An unfinished index is invalid; the next run drops and recreates it.
      await giveUp(() => ({ running, session }));
    },
  };
}

/**
 * What could not be made or dropped lately: trying it again costs the reading of a whole layer, or a long wait for a
 * transaction that is open for hours, and each search of a column without indexes asks for it.
 */
class Failures {
  private readonly times: Overruns;
  /** The cause that was told last. */
  private readonly told = new LRUCache<string, string>({ max: 1_000 });

  constructor(
    private readonly log: Log,
    clock: Pick<Clock, "now">,
  ) {
    this.times = new Overruns(clock);
  }

  admits(what: string): boolean {
    return this.times.admits(what);
  }

  /** Each cause is told once. */
  note(what: string, error: pg.DatabaseError, fields: object, message: string): void {
    this.times.note(what);
    if (this.told.get(what) === String(error.code)) return;
    this.told.set(what, String(error.code));
    this.log.warn({ err: error, ...fields }, message);
  }

  done(what: string): void {
    this.times.done(what);
    this.told.delete(what);
  }
}

interface Run {
  readonly stopped: () => boolean;
  readonly log: Log;
  readonly failures: Failures;
}

/** Returns whether to run again soon: a layer was locked by an import, or a layer or column was deleted meanwhile. */
async function adjustIndexes(session: WorkSession, { stopped, log, failures }: Run): Promise<boolean> {
  if (!(await session.tryLock(workLock.searchIndexes))) return false;
  // Enough for a GIN index of a million names; with less memory, creation takes twice as long.
  await session.set({ maintenance_work_mem: "256MB" });
  const present = await presentIndexes(session);
  const wanted = await wantedColumns(session);
  const statistics = await statisticsOf(session, wanted);
  const amountOf = (column: WantedColumn): number | undefined => {
    const known = statistics.get(column);
    return known && known.rows * known.weight;
  };
  // Without statistics a column keeps what it has.
  const kept = new Set(
    wanted.filter((column) => (amountOf(column) ?? keptValues) >= keptValues).flatMap(namesOf),
  );
  await session.set({ lock_timeout: "60s" });
  for (const [name, valid] of present) {
    if (stopped()) return false;
    if ((valid && kept.has(name)) || !failures.admits(name)) continue;
    try {
      await session.alone(`drop index concurrently if exists layers.${name}`);
      failures.done(name);
    } catch (error) {
      if (stopped() || !(error instanceof pg.DatabaseError)) throw error;
      // Its layer is read for long. A later run tries again; the other columns do not wait for it.
      failures.note(name, error, { index: name }, "an index of search could not be dropped");
    }
  }
  let locked = statistics.size < wanted.length;
  for (const column of wanted) {
    if ((amountOf(column) ?? 0) < indexedValues || statistics.get(column)?.indexed) continue;
    const name = String(column.id);
    if (!failures.admits(name)) continue;
    if (stopped()) return false;
    const started = performance.now();
    try {
      if (!(await createIndexes(session, column, stopped))) {
        locked = true;
        continue;
      }
    } catch (error) {
      if (stopped() || !(error instanceof pg.DatabaseError)) throw error;
      // undefined_table: the layer was deleted meanwhile.
      if (error.code === "42P01") continue;
      // Continue with the other columns.
      failures.note(name, error, { column: column.id }, "the indexes of a searched column could not be made");
      continue;
    }
    failures.done(name);
    log.info(
      { layer: column.layerId, column: column.id, ms: Math.round(performance.now() - started) },
      "made the indexes of a searched column",
    );
  }
  return locked;
}

const namesOf = (column: WantedColumn): string[] => Object.values(indexNames(column.id));

/** Names of all search indexes, and whether they are valid. The lock ensures that none is being created. */
async function presentIndexes(session: WorkSession): Promise<Map<string, boolean>> {
  const { rows } = await session.query<{ name: string; valid: boolean }>(
    `select c.relname as name, i.indisvalid as valid from pg_class c join pg_index i on i.indexrelid = c.oid
     where c.relnamespace = 'layers'::regnamespace and c.relname ~ '^s[0-9]+_(words|exact)$'`,
  );
  return new Map(rows.map((row) => [row.name, row.valid]));
}

/** Columns that are searched. */
async function wantedColumns(session: WorkSession): Promise<WantedColumn[]> {
  const { rows } = await session.query<WantedColumn>(
    `with wanted as (
       select search_column_id as id from search_setting
       union
       select id from (
         select c.id, row_number() over (partition by c.layer_id order by c.sort, c.id) as place
         from layer_column c join node n on n.id = c.layer_id join map m on m.id = n.map_id
         join project p on p.id = m.project_id
         where c.type in ('string', 'text') and not p.hidden
           and not exists (select from search_setting s where s.map_id = m.id)) texts
       where place <= ${maxColumnsPerLayer})
     select c.id, c.layer_id as "layerId", c.localized_value and c.code <> 'svc_id' as "isLocalised",
       case when c.code = 'svc_id' then 'svc_id' else 'c' || c.id end as physical
     from wanted join layer_column c using (id)
     join pg_class t on t.oid = to_regclass('layers.l' || c.layer_id) and t.relkind = 'r'
     order by c.layer_id, c.sort, c.id`,
  );
  return rows;
}

/**
 * Statistics of the columns; none for those of layers that were locked or just deleted. One layer at a time: a statement
 * over many tables locks them all until it ends, and would wait for the one that somebody else has locked.
 * @param wanted the columns of a layer follow each other
 */
async function statisticsOf(
  session: WorkSession,
  wanted: readonly WantedColumn[],
): Promise<Map<WantedColumn, ColumnStatistics>> {
  await session.set({ lock_timeout: "1s" });
  const found = new Map<WantedColumn, ColumnStatistics>();
  for (let start = 0, end = 0; start < wanted.length; start = end) {
    while (end < wanted.length && wanted[end]!.layerId === wanted[start]!.layerId) end++;
    const columns = wanted.slice(start, end);
    try {
      const statistics = await readStatistics(
        columns,
        async <Row extends object>({ text, values }: Statement) =>
          (await session.query<Row>(text, values)).rows,
      );
      for (const [i, column] of columns.entries()) found.set(column, statistics[i]!);
    } catch (error) {
      // undefined_table, undefined_column
      if (!["42P01", "42703", lockNotAvailable].includes((error as { code?: string }).code ?? ""))
        throw error;
    }
  }
  return found;
}

/**
 * Creates the indexes of a column, unless it is stopped; one of them if the other cannot be made.
 * @returns false when an import has locked the layer, which could cause a deadlock
 * @throws DatabaseError of the one that could not be made
 */
async function createIndexes(
  session: WorkSession,
  column: WantedColumn,
  stopped: () => boolean,
): Promise<boolean> {
  const key = importLock("$1");
  if (!(await session.tryLock(key, [column.layerId]))) return false;
  try {
    const { words, exact } = indexNames(column.id);
    const table = layerTable(column.layerId);
    // Searches scan the pending list of a GIN index, so it is kept small.
    const statements = [
      `create index concurrently if not exists ${words} on ${table}
       using gin (${foldOf(column)} gin_trgm_ops, (${termsOf(column)})) with (gin_pending_list_limit = 256)`,
      column.isLocalised
        ? `create index concurrently if not exists ${exact} on ${table}
           using gin (${valuesOf(column)}) with (gin_pending_list_limit = 256)`
        : `create index concurrently if not exists ${exact} on ${table} ((${orderOf(column)}), svc_id)`,
      // The planner needs statistics of the index expressions.
      `analyze ${table}`,
    ];
    let failure: pg.DatabaseError | undefined;
    for (const statement of statements) {
      if (stopped()) return true;
      try {
        await session.alone(statement);
      } catch (error) {
        // Of locks the next one would have to wait for as long.
        if (stopped() || !(error instanceof pg.DatabaseError) || error.code === lockNotAvailable) throw error;
        failure ??= error;
      }
    }
    if (failure) throw failure;
    return true;
  } finally {
    // Without its connection it is free.
    await session.unlock(key, [column.layerId]).catch(() => undefined);
  }
}
