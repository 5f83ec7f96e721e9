import type pg from "pg";
import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";
import { plainThinning, type ThinningSpec } from "./thinning.js";

/**
 * Thins points for the rules of new styles, in the background; makes bands of lines and polygons, and looks how crowded layers
 * are, where they have grown: one layer after the other, one node at a time. Until that is
 * done, and if it fails, tiles are drawn from all points. Objects can be edited meanwhile. What a node that dies leaves
 * half done is swept by the next.
 */
export interface ThinningMaker {
  /** Notes that tiles of a layer are drawn by these rules. */
  want(layerId: number, spec: ThinningSpec): void;
  /** Looks for layers that have grown large, as it does at intervals. */
  kick(): void;
  /** Resolves when nothing is being made. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Layers that wait; more are noted again when they are drawn. */
const maxWanted = 100;
const retryMs = 10_000;
/** How long writers and this wait for each other. */
const lockTimeout = "5s";
const statementTimeout = "1h";
/** Tables that are no longer read are kept for a minute. */
const sweepMs = 70_000;
const intervalMs = 600_000;

export function makeThinnings(db: Database, log: Log): ThinningMaker {
  const wanted = new Map<number, ThinningSpec>();
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let made = false;
  let client: pg.Client | undefined;

  const pass = async (connection: pg.Client): Promise<void> => {
    const lock = await connection.query<{ ours: boolean }>(
      `select pg_try_advisory_lock(${workLock.thinnings}) as ours`,
    );
    if (!lock.rows[0]!.ours) return;
    await connection.query(
      `set lock_timeout = '${lockTimeout}'; set statement_timeout = '${statementTimeout}'`,
    );
    await connection.query("select sweep_thinnings()");
    const { rows } = await connection.query<{ id: number }>("select unthinned_layers() as id");
    for (const { id } of rows) if (!wanted.has(id)) wanted.set(id, plainThinning);
    // Those that are wanted again meanwhile come next time.
    for (const [layerId, spec] of [...wanted]) {
      if (stopped) return;
      wanted.delete(layerId);
      const started = performance.now();
      try {
        if (!(await make(connection, layerId, spec))) continue;
        log.info({ layer: layerId, ms: Math.round(performance.now() - started) }, "thinned a layer's points");
        made = true;
      } catch (error) {
        const { code } = error as { code?: string };
        // undefined_table: the layer was deleted meanwhile.
        if (code === "42P01") continue;
        // lock_not_available, deadlock_detected: it is edited for long.
        if (code === "55P03" || code === "40P01") wanted.set(layerId, spec);
        else throw error;
      }
    }
    // Each by itself, so that edits of one do not wait for the others.
    const outgrown = await connection.query<{ id: string }>("select id from outgrown_layers() id");
    for (const { id } of outgrown.rows) {
      if (stopped) return;
      try {
        await connection.query("select generalize_grown($1)", [id]);
        await connection.query("select note_crowds($1)", [id]);
      } catch (error) {
        // Deleted or edited meanwhile: the next pass looks again.
        if (!["42P01", "55P03", "40P01"].includes((error as { code?: string }).code ?? "")) throw error;
      }
    }
  };
  const work = async (): Promise<void> => {
    try {
      client = await db.dedicated();
      client.on("error", () => undefined);
      await pass(client);
    } catch (error) {
      if (!stopped) log.warn({ err: error }, "points could not be thinned");
    } finally {
      await client?.end().catch(() => undefined);
      client = undefined;
      running = undefined;
      again(wanted.size > 0 ? retryMs : made ? sweepMs : intervalMs);
      made = false;
    }
  };
  const again = (ms: number): void => {
    if (stopped) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      running ??= work();
    }, ms);
    timer.unref();
  };
  again(sweepMs);
  return {
    kick: () => {
      if (!stopped) running ??= work();
    },
    want: (layerId, spec) => {
      if (stopped || (wanted.size >= maxWanted && !wanted.has(layerId))) return;
      wanted.set(layerId, spec);
      running ??= work();
    },
    idle: async () => running,
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      const pid = (client as unknown as { processID?: number | null } | undefined)?.processID;
      if (pid) await db.query("select pg_cancel_backend($1)", [pid]).catch(() => undefined);
      await running;
    },
  };
}

/** Returns false when there is nothing to do. */
async function make(client: pg.Client, layerId: number, spec: ThinningSpec): Promise<boolean> {
  const text = JSON.stringify(spec, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  const begun = await client.query<{ number: number | null }>("select begin_thinning($1, $2) as number", [
    layerId,
    text,
  ]);
  const { number } = begun.rows[0]!;
  if (number === null) return false;
  const made = await client.query<{ bands: number[] }>(
    `select make_thinning('layers', 'l' || layer_id, thinning) as bands from thinning
     where layer_id = $1 and number = $2`,
    [layerId, number],
  );
  const bands = made.rows[0]?.bands;
  if (!bands) return false;
  await client.query("select finish_thinning($1, $2, $3)", [layerId, number, bands]);
  return true;
}
