import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import { giveUp } from "../storage/give-up.js";
import type { Database } from "../storage/postgres.js";
import type { WorkSession } from "../storage/work-sessions.js";
import { plainThinning, type ThinningSpec } from "./thinning.js";

/**
 * Thins points for the rules of new styles, in the background. Where layers have grown, it makes generalization levels of lines
 * and polygons and measures how dense they are: one layer after the other, one node at a time. Until that is done, and if it
 * fails, tiles are drawn from all points. Objects can be edited meanwhile. What a node that dies leaves half done is swept by
 * the next.
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
/** How long writers, of objects and of the map's catalogue, and this wait for each other. */
const lockTimeout = "1s";
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
  let session: WorkSession | undefined;

  const pass = async (connection: WorkSession): Promise<void> => {
    if (!(await connection.tryLock(workLock.thinnings))) return;
    await connection.set({ lock_timeout: lockTimeout, statement_timeout: statementTimeout });
    await connection.query("select sweep_thinnings()");
    const { rows } = await connection.query<{ id: number }>("select unthinned_layers() as id");
    for (const { id } of rows) if (!wanted.has(id)) wanted.set(id, plainThinning);
    // Layers that are wanted again meanwhile come next time.
    for (const [layerId, spec] of [...wanted]) {
      if (stopped) return;
      wanted.delete(layerId);
      const started = performance.now();
      try {
        if (!(await make(connection, { layerId, spec, isStopped: () => stopped }))) continue;
        log.info({ layer: layerId, ms: Math.round(performance.now() - started) }, "thinned a layer's points");
        made = true;
      } catch (error) {
        // The layer is edited for long.
        if (isLocked(error)) wanted.set(layerId, spec);
        else failed(layerId, error);
      }
    }
    // Each layer by itself, so that edits of one do not wait for the others.
    const outgrown = await connection.query<{ id: string }>("select id from outgrown_layers() id");
    for (const { id } of outgrown.rows) {
      for (const statement of ["select generalize_grown($1)", "select note_crowds($1)"]) {
        if (stopped) return;
        // The next pass looks again at a layer that is edited meanwhile.
        await connection.query(statement, [id]).catch((error: unknown) => {
          if (!isLocked(error)) failed(Number(id), error);
        });
      }
    }
  };
  /** An error of one layer is in no other's way. */
  const failed = (layer: number, error: unknown): void => {
    const { code = "" } = error as { code?: string };
    // Errors of the connection, or of the whole server; undefined_table: the layer was deleted meanwhile.
    if (stopped || !/^[0-9A-Z]{5}$/.test(code) || /^(08|53|57P|58|XX)/.test(code)) throw error;
    if (code !== "42P01") log.warn({ err: error, layer }, "a layer's lighter geometry could not be made");
  };
  const work = async (): Promise<void> => {
    try {
      session = await db.working();
      if (!stopped) await pass(session);
    } catch (error) {
      if (!stopped) log.warn({ err: error }, "points could not be thinned");
    } finally {
      await session?.end();
      session = undefined;
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
      await giveUp(() => ({ running, session }));
    },
  };
}

/** lock_not_available, deadlock_detected */
const isLocked = (error: unknown): boolean =>
  ["55P03", "40P01"].includes((error as { code?: string }).code ?? "");

interface Making {
  readonly layerId: number;
  readonly spec: ThinningSpec;
  readonly isStopped: () => boolean;
}

/** Returns false when there is nothing to do. */
async function make(client: WorkSession, { layerId, spec, isStopped }: Making): Promise<boolean> {
  const text = JSON.stringify(spec, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  const begun = await client.query<{ number: number | null }>(
    `with done as materialized (select begin_thinning($1, $2) as number), noted as (${noted("done")})
     select number from done`,
    [layerId, text],
  );
  const { number } = begun.rows[0]!;
  if (number === null || isStopped()) return false;
  const made = await client.query<{ levels: number[] }>(
    `select make_thinning('layers', 'l' || layer_id, thinning) as levels from thinning
     where layer_id = $1 and number = $2`,
    [layerId, number],
  );
  const levels = made.rows[0]?.levels;
  if (!levels || isStopped()) return false;
  await client.query(
    `with done as materialized (select finish_thinning($1, $2, $3)), noted as (${noted("done")}) select from done`,
    [layerId, number, levels],
  );
  return true;
}

/**
 * A new version of the layer's row, so that an edit of a transaction whose snapshot is older fails to serialize: its triggers
 * do not see which tables there are to follow it.
 */
const noted = (after: string): string =>
  `update layer set changed_at = changed_at from ${after} where layer.id = $1`;
