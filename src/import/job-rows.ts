import { randomUUID } from "node:crypto";
import { busy } from "../errors.js";
import { workLock } from "../storage/advisory-locks.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { Imported, Progress } from "./import-request.js";

/** Rows of the table `import_job`. */

export interface JobOwner {
  readonly accountId: number;
  readonly projectId: number;
  readonly layerId: number;
}

/** Why a job failed: an error of the API. */
export interface JobFailure {
  readonly code: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type JobPhase = "waiting" | Progress["phase"];

interface JobRow {
  readonly id: string;
  readonly phase: JobPhase;
  readonly rows: number;
  readonly created: Date;
  readonly finished: Date | null;
}

export type ImportJob = JobRow &
  (
    | { readonly state: "running" | "cancelled"; readonly outcome: null }
    | { readonly state: "done"; readonly outcome: Imported & { readonly dryRun: boolean } }
    | { readonly state: "failed"; readonly outcome: JobFailure }
  );

const keptFor = "1 day";
/** A job whose node has not renewed it for that long has been interrupted. */
const silence = "30 seconds";
/** Bounds on requests whose jobs run, each of which keeps its files, and on rows. */
const runningOfProject = 8;
const runningInAll = 64;
const keptOfProject = 1_000;
const keptInAll = 5_000;

const interrupted: JobFailure = {
  code: "import_failed",
  message: "The import was interrupted, because the server that ran it ended. The layer is as before.",
  data: { interrupted: true },
};

/** Inserts the jobs of a request. @returns their ids; @throws Failure busy when those of too many are running */
export async function createJobs(tx: Queryable, owners: readonly JobOwner[]): Promise<readonly string[]> {
  await tx.query(`select pg_advisory_xact_lock(${workLock.importJobs})`);
  await interruptSilent(tx);
  const [{ projectId }] = owners as readonly [JobOwner];
  // Those of a request are made at one time: that of their transaction.
  const [running] = await tx.query<{ own: number; total: number }>(
    `select count(distinct created_at) filter (where project_id = $1) as own, count(distinct created_at) as total
     from import_job where state = 'running'`,
    [projectId],
  );
  if (running!.own >= runningOfProject || running!.total >= runningInAll)
    throw busy("Too many imports are running already.", 10);
  const ids = owners.map(() => randomUUID());
  await tx.execute(
    `insert into import_job (id, account_id, project_id, layer_id)
     select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[])`,
    [
      ids,
      owners.map(({ accountId }) => accountId),
      owners.map(({ projectId }) => projectId),
      owners.map(({ layerId }) => layerId),
    ],
  );
  await tx.execute(
    `delete from import_job where state <> 'running' and id in (
       select id from import_job where project_id = $1 order by created_at desc offset ${keptOfProject})`,
    [projectId],
  );
  await tx.execute(
    `delete from import_job where state <> 'running' and id in (
       select id from import_job order by created_at desc offset ${keptInAll})`,
  );
  return ids;
}

/** The job of that id, of this owner; undefined = there is none. One whose node is silent ends with it. */
export async function findJob(db: Queryable, id: string, owner: JobOwner): Promise<ImportJob | undefined> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return undefined;
  const find = () =>
    db.query<JobRow & { state: ImportJob["state"]; outcome: string | null; silent: boolean }>(
      `select id, state, phase, rows, outcome, created_at as created, finished_at as finished,
         state = 'running' and seen_at < now() - interval '${silence}' as silent
       from import_job where id = $1 and account_id = $2 and project_id = $3 and layer_id = $4`,
      [id, owner.accountId, owner.projectId, owner.layerId],
    );
  let [row] = await find();
  if (row?.silent) {
    // Once it was told that the layer is as before, the job must not write any more, should its node come back.
    await interruptSilent(db);
    [row] = await find();
  }
  if (!row) return undefined;
  const { silent: _, ...job } = row;
  return { ...job, outcome: job.outcome === null ? null : JSON.parse(job.outcome) } as ImportJob;
}

/**
 * Tells how a running job is.
 * @returns whether it is still running; false = cancelled by another node, or given up as interrupted
 */
export async function renewJob(
  db: Queryable,
  id: string,
  { phase, rows }: { phase: JobPhase; rows: number },
) {
  const renewed = await db.query(
    "update import_job set phase = $2, rows = $3, seen_at = now() where id = $1 and state = 'running' returning id",
    [id, phase, rows],
  );
  return renewed.length > 0;
}

/** Ends a job; `phase` is where it was. @returns false when it had ended before */
export async function endJob(
  db: Queryable,
  id: string,
  state: "done" | "failed" | "cancelled",
  { outcome, phase }: { readonly outcome?: unknown; readonly phase?: JobPhase } = {},
): Promise<boolean> {
  const ended = await db.query(
    `update import_job set state = $2, outcome = $3, phase = coalesce($4, phase), finished_at = now()
     where id = $1 and state = 'running' returning id`,
    [id, state, outcome === undefined ? null : JSON.stringify(outcome), phase ?? null],
  );
  return ended.length > 0;
}

export const endInterrupted = (db: Queryable, id: string): Promise<boolean> =>
  endJob(db, id, "failed", { outcome: interrupted });

/** Marks jobs whose node has ended. One whose row is held is being ended by its node. */
const interruptSilent = (db: Queryable): Promise<number> =>
  db.execute(
    `update import_job set state = 'failed', outcome = $1, finished_at = now() where id in (
       select id from import_job where state = 'running' and seen_at < now() - interval '${silence}' for update skip locked)`,
    [JSON.stringify(interrupted)],
  );

/** Marks jobs whose node has ended, and deletes those that are too old. */
export async function pruneJobs(db: Database): Promise<void> {
  await interruptSilent(db);
  await db.execute(
    `delete from import_job where state <> 'running' and created_at <= now() - interval '${keptFor}'`,
  );
}
