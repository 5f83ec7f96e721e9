import { busy, Failure, failed, notFound } from "../errors.js";
import { importLock } from "../storage/advisory-locks.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { lockMap } from "./tree.js";

/** Transactions that change the structure of a layer: their locks, retries and errors. */

/** The layer whose structure is changed. */
export interface StructureTarget {
  readonly mapId: number;
  readonly layerId: number;
  /** Language of values that become localised; its values are kept when a column becomes plain. */
  readonly mainLanguage: string;
}

/** A change that waits for a long query blocks all queries after it. So it gives up early, lets them pass and retries. */
const lockTimeout = "2s";
const attempts = 4;
/** The same time for who holds nothing yet that others wait for. */
const patience = "8s";

const inUse = () => busy("The layer is in use by long reads or an import; its columns cannot change now.", 5);

/**
 * The lock of imports and of changes of the columns, until the transaction ends. It comes before that of the map's row.
 * @param shared with others who only read the layer
 */
export async function lockStructure(tx: Queryable, layerId: number, shared?: "shared"): Promise<void> {
  const lock = shared ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock";
  await tx.execute(`set local lock_timeout = '${patience}'`);
  try {
    await tx.execute(`select ${lock}(${importLock("$1")})`, [layerId]);
  } catch (error) {
    throw translated(error) === "locked" ? inUse() : error;
  }
  await tx.execute("set local lock_timeout to default");
}

/**
 * Runs a change while no other structure change of the map and no import into the layer runs. The order of locks is that of
 * imports and other writers, to avoid deadlocks: the import lock, the map's row, then tables.
 */
export async function changeStructure<T>(
  db: Database,
  { mapId, layerId }: StructureTarget,
  change: (tx: Queryable) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(async (tx) => {
        await tx.execute(
          `select set_config('lock_timeout', '${lockTimeout}', true), set_config('statement_timeout', '10min', true)`,
        );
        await tx.execute(`select pg_advisory_xact_lock(${importLock("$1")})`, [layerId]);
        await lockMap(tx, mapId);
        const rows = await tx.query("select 1 from node where id = $1 and map_id = $2", [layerId, mapId]);
        if (rows.length === 0) throw notFound("layer of that code");
        return await change(tx);
      });
    } catch (error) {
      const failure = translated(error);
      if (failure !== "locked") throw failure;
      if (attempt === attempts) throw inUse();
    }
  }
}

/** The error as a `Failure`; "locked" if the change should be retried; other errors as they are. */
function translated(error: unknown): unknown {
  if (error instanceof Failure) return error;
  switch ((error as { code?: string }).code) {
    case "55P03": // lock_not_available
    case "40P01": // deadlock_detected
      return "locked";
    case "0A000": // feature_not_supported: the type of a column that a view uses
    case "2BP01": // dependent_objects_still_exist
      return failed("invalid_value", "Another layer is made from this one and uses the column.");
    case "54000": // program_limit_exceeded: a row is larger than a page
      return failed("invalid_value", "An object would have more data than one row can hold.");
    case "54011": // too_many_columns
      return failed("invalid_value", "The layer's table has no room for more columns.");
    default:
      return error;
  }
}
