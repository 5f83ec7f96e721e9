import { loginOf } from "../catalog/bin.js";
import type { Caller } from "../catalog/state.js";
import { Failure } from "../errors.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import type { Queryable } from "../storage/postgres.js";
import type { KeptFiles } from "./import-folder.js";
import { type ImportDependencies, importIntoLayer } from "./import-layer.js";
import type { ImportSource, ImportTarget } from "./import-request.js";
import { endInterrupted, endJob, type JobFailure, type JobPhase, renewJob } from "./job-rows.js";

/** Runs imports after their requests were answered. */

export interface JobTask {
  /** Whose job it is; those of a project take turns. */
  readonly caller: Caller;
  readonly target: ImportTarget;
  readonly source: Omit<ImportSource, "files">;
  readonly files: KeptFiles;
  readonly mayChangeColumns: boolean;
}

interface RunningJob {
  readonly controller: AbortController;
  readonly state: { phase: JobPhase; rows: number };
  readonly ended: Promise<void>;
}

export interface JobDependencies extends ImportDependencies {
  readonly changes: { propagate(): Promise<unknown> };
  /**
   * Asked before a job begins to read and when it has written: rights may have been withdrawn since it was sent.
   * What has written asks over its own connection: those of others may wait for its locks.
   * @throws Failure not_found, unauthenticated, forbidden
   */
  readonly requireAllowed: (
    caller: Caller,
    layerId: number,
    work: { readonly changesColumns: boolean; readonly tx?: Queryable },
  ) => Promise<void>;
}

/**
 * Jobs of a project that one node runs at once: while one is written, the next can be read. A job may take hours, so that others
 * do not wait for its end: as many slots are for projects that have none.
 */
const ofProject = 2;
const renewMs = 2_000;

class Cancelled extends Error {}
class Stopped extends Error {}

export class ImportJobs {
  private readonly running = new Map<string, RunningJob>();
  private readonly permits: FairSemaphore;
  private readonly timer: NodeJS.Timeout;
  private renewing = false;
  private stopped = false;

  constructor(private readonly deps: JobDependencies) {
    this.permits = new FairSemaphore({
      permits: 2 * ofProject,
      kept: ofProject,
      // `createJobs` bounds them.
      mostWaiting: Number.POSITIVE_INFINITY,
      timeoutMs: 2 ** 31 - 1,
      refusal: "Too many imports wait.",
    });
    this.timer = setInterval(() => void this.renew(), renewMs);
    this.timer.unref();
  }

  /** Runs a job that `createJobs` has inserted, or ends it after `stop`. Never throws: its row tells how it ended. */
  start(id: string, task: JobTask): void {
    const controller = new AbortController();
    if (this.stopped) controller.abort(new Stopped());
    const state = { phase: "waiting" as const, rows: 0 };
    const ended = this.run(id, task, { controller, state }).finally(() => this.running.delete(id));
    this.running.set(id, { controller, state, ended });
  }

  /** Ends a job of any node. @returns false when it had ended before */
  async cancel(id: string): Promise<boolean> {
    const job = this.running.get(id);
    const cancelled = await endJob(this.deps.db, id, "cancelled", { ...(job && { phase: job.state.phase }) });
    job?.controller.abort(new Cancelled());
    await job?.ended;
    return cancelled;
  }

  /** Ends all jobs of this node, those that begin meanwhile, too; their rows say that they were interrupted. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    for (const { controller } of this.running.values()) controller.abort(new Stopped());
    while (this.running.size > 0) await Promise.all([...this.running.values()].map(({ ended }) => ended));
  }

  private async run(
    id: string,
    { caller, target, source, files, mayChangeColumns }: JobTask,
    { controller, state }: Pick<RunningJob, "controller" | "state">,
  ): Promise<void> {
    const { deps } = this;
    const { signal } = controller;
    let release: (() => void) | undefined;
    try {
      const project = String(target.projectId ?? "");
      release = await this.permits.acquire({ owners: [project, String(caller.accountId)], signal });
      await deps.requireAllowed(caller, target.layerId, { changesColumns: false });
      const dryRun = source.dryRun === true;
      const db = deps.db.for({
        ...{ client: `project ${project}`, project, writing: "background", isTask: true },
        author: () => loginOf(caller) || undefined,
      });
      const imported = await importIntoLayer(
        { ...deps, db },
        target,
        { ...source, files: files.list },
        {
          mayChangeColumns,
          signal,
          onProgress: (progress) => void Object.assign(state, progress),
          // In the transaction of the objects, so that a job is done if and only if they are there.
          onWritten: async (tx, done) => {
            // What is left for the commit may take minutes, and others must not wait for the job's row meanwhile.
            await tx.execute("set constraints all immediate");
            const { phase } = state;
            const work = { changesColumns: done.columns.length + done.retyped.length > 0, tx };
            await deps.requireAllowed(caller, target.layerId, work);
            if (!(await endJob(tx, id, "done", { outcome: { ...done, dryRun }, phase })))
              throw new Cancelled();
          },
        },
      );
      if (dryRun) await endJob(deps.db, id, "done", { outcome: { ...imported, dryRun }, phase: state.phase });
      else await this.propagate(id);
    } catch (error) {
      await this.failed(id, error, state.phase).catch((reason: unknown) =>
        deps.log.warn({ err: reason, job: id }, "the end of an import could not be noted"),
      );
    } finally {
      release?.();
      await files.remove();
    }
  }

  /** The objects are there, whatever becomes of the word to the other nodes. */
  private async propagate(id: string): Promise<void> {
    await this.deps.changes
      .propagate()
      .catch((reason: unknown) =>
        this.deps.log.warn({ err: reason, job: id }, "the objects of an import were not announced at once"),
      );
  }

  private async failed(id: string, error: unknown, phase: JobPhase): Promise<void> {
    const { db, log } = this.deps;
    if (error instanceof Cancelled) return;
    if (error instanceof Stopped) await endInterrupted(db, id);
    else await endJob(db, id, "failed", { outcome: failureOf(error, id), phase });
    if (!(error instanceof Failure) && !(error instanceof Stopped))
      log.error({ err: error, job: id }, "an import failed");
  }

  /** Tells that the jobs live, and ends those that were cancelled elsewhere. */
  private async renew(): Promise<void> {
    // Where the database is slow, one connection waits and no more.
    if (this.renewing) return;
    this.renewing = true;
    for (const [id, { controller, state }] of this.running) {
      const isRunning = await renewJob(this.deps.db, id, state).catch(() => true);
      // Nothing remains to be aborted of a job that has just been done.
      if (!isRunning) controller.abort(new Cancelled());
    }
    this.renewing = false;
  }
}

function failureOf(error: unknown, id: string): JobFailure {
  if (!(error instanceof Failure))
    return { code: "internal", message: "An unexpected error occurred.", data: { request: id } };
  const { code, kind, message, data } = error;
  return { code: code ?? kind, message, data };
}
