import pg from "pg";
import { layerTable } from "../catalog/layer-table.js";
import type { Log } from "../log.js";
import { importLock, workLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";
import { foldOf, indexNames, orderOf, termsOf, valuesOf } from "./column-indexes.js";
import { type ColumnPlace, indexedValues, readStatistics } from "./column-statistics.js";

/**
 * Keeps the indexes of searched columns: makes those of layers that have grown or were named in search settings, drops
 * those that nobody searches. It works in the background, a column after the other, in one node at a time; objects can
 * be read and written meanwhile. What is wanted is read from the database each time, so nothing is forgotten.
 */
export interface SearchIndexes {
  /** Something may have to be done now. */
  kick(): void;
  /** Resolves when nothing is being done. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const everyMs = 30_000;
/** When a layer is looked at again that an import held. */
const heldMs = 1_000;
/** A layer must shrink well below the size from which it has indexes to lose them. */
const keptValues = indexedValues / 4;
/** Of a map without search settings so many columns of each layer get indexes; more are searched as far as time goes. */
const columnsOfLayer = 8;

interface WantedColumn extends ColumnPlace {
  readonly isLocalised: boolean;
}

export function keepSearchIndexes(db: Database, log: Log): SearchIndexes {
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let client: pg.Client | undefined;

  let retry: NodeJS.Timeout | undefined;

  const pass = async () => {
    client = await db.dedicated();
    client.on("error", () => undefined);
    try {
      const held = await adjustIndexes(client, () => stopped, log);
      clearTimeout(retry);
      if (held) retry = setTimeout(kick, heldMs).unref();
    } finally {
      await client.end();
      client = undefined;
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
  const timer = setInterval(kick, everyMs);
  timer.unref();
  return {
    kick,
    idle: async () => running,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      clearTimeout(retry);
      const pid = (client as unknown as { processID?: number | null } | undefined)?.processID;
      // An index that is being made is left unfinished, and made anew by who comes next.
      if (pid) await db.query("select pg_cancel_backend($1)", [pid]).catch(() => undefined);
      await running;
    },
  };
}

/** Gives whether to look again soon: an import held a layer, which was left as it was, or a layer or column went. */
async function adjustIndexes(client: pg.Client, stopped: () => boolean, log: Log): Promise<boolean> {
  const lock = await client.query<{ ours: boolean }>(
    `select pg_try_advisory_lock(${workLock.searchIndexes}) as ours`,
  );
  if (!lock.rows[0]!.ours) return false;
  await client.query("set lock_timeout = '60s'");
  // A GIN index of a million names fits in it; with less it takes twice as long to make.
  await client.query("set maintenance_work_mem = '256MB'");
  const present = await presentIndexes(client);
  const wanted = await wantedColumns(client);
  const statistics = await readStatistics(
    wanted,
    async ({ text, values }) => (await client.query(text, [...values])).rows,
  ).catch(goneMeanwhile);
  if (!statistics) return true;
  const amounts = statistics.map(({ rows, weight }) => rows * weight);
  const kept = new Set(wanted.filter((_, i) => amounts[i]! >= keptValues).flatMap(namesOf));
  for (const [name, valid] of present) {
    if (stopped()) return false;
    if (valid && kept.has(name)) continue;
    await client.query(`drop index concurrently if exists layers.${name}`);
  }
  let held = false;
  for (const [i, column] of wanted.entries()) {
    if (amounts[i]! < indexedValues || statistics[i]!.indexed) continue;
    if (stopped()) return false;
    const started = performance.now();
    try {
      if (!(await makeIndexes(client, column))) {
        held = true;
        continue;
      }
    } catch (error) {
      if (stopped() || !(error instanceof pg.DatabaseError)) throw error;
      // Other columns get theirs all the same.
      log.warn({ err: error, column: column.id }, "the indexes of a searched column could not be made");
      continue;
    }
    log.info(
      { layer: column.layerId, column: column.id, ms: Math.round(performance.now() - started) },
      "made the indexes of a searched column",
    );
  }
  return held;
}

const namesOf = (column: WantedColumn): string[] => Object.values(indexNames(column.id));

/** Names of all indexes of search, and whether they are complete. Nobody else is making one now. */
async function presentIndexes(client: pg.Client): Promise<Map<string, boolean>> {
  const { rows } = await client.query<{ name: string; valid: boolean }>(
    `select c.relname as name, i.indisvalid as valid from pg_class c join pg_index i on i.indexrelid = c.oid
     where c.relnamespace = 'layers'::regnamespace and c.relname ~ '^s[0-9]+_(words|exact)$'`,
  );
  return new Map(rows.map((row) => [row.name, row.valid]));
}

/** Columns that searches go through. */
async function wantedColumns(client: pg.Client): Promise<WantedColumn[]> {
  const { rows } = await client.query<WantedColumn>(
    `with wanted as (
       select search_column_id as id from search_setting
       union
       select id from (
         select c.id, row_number() over (partition by c.layer_id order by c.sort, c.id) as place
         from layer_column c join node n on n.id = c.layer_id join map m on m.id = n.map_id
         join project p on p.id = m.project_id
         where c.type in ('string', 'text') and not p.hidden
           and not exists (select from search_setting s where s.map_id = m.id)) texts
       where place <= ${columnsOfLayer})
     select c.id, c.layer_id as "layerId", c.localized_value and c.code <> 'svc_id' as "isLocalised",
       case when c.code = 'svc_id' then 'svc_id' else 'c' || c.id end as physical
     from wanted join layer_column c using (id)
     join pg_class t on t.oid = to_regclass('layers.l' || c.layer_id) and t.relkind = 'r'
     order by c.layer_id, c.sort, c.id`,
  );
  return rows;
}

function goneMeanwhile(error: unknown): undefined {
  // undefined_table, undefined_column
  if (!["42P01", "42703"].includes((error as { code?: string }).code ?? "")) throw error;
}

/** Makes a column's indexes; false when an import holds the layer, which would wait for us and we for it. */
async function makeIndexes(client: pg.Client, column: WantedColumn): Promise<boolean> {
  const key = importLock("$1");
  const lock = await client.query<{ ours: boolean }>(`select pg_try_advisory_lock(${key}) as ours`, [
    column.layerId,
  ]);
  if (!lock.rows[0]!.ours) return false;
  try {
    const { words, exact } = indexNames(column.id);
    const table = layerTable(column.layerId);
    // A search goes through what has not been merged into a GIN index yet: a little of it is no burden.
    await client.query(
      `create index concurrently if not exists ${words} on ${table}
       using gin (${foldOf(column)} gin_trgm_ops, (${termsOf(column)})) with (gin_pending_list_limit = 256)`,
    );
    await client.query(
      column.isLocalised
        ? `create index concurrently if not exists ${exact} on ${table}
           using gin (${valuesOf(column)}) with (gin_pending_list_limit = 256)`
        : `create index concurrently if not exists ${exact} on ${table} ((${orderOf(column)}), svc_id)`,
    );
    // Statistics of the index expressions, by which the planner picks one.
    await client.query(`analyze ${table}`);
    return true;
  } finally {
    await client.query(`select pg_advisory_unlock(${key})`, [column.layerId]);
  }
}
