import { fileURLToPath } from "node:url";
import { Piscina } from "piscina";
import type { Log } from "../log.js";
import { clientOwners } from "../queues/clients.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { HostError } from "./host.js";

/**
 * Worker threads of this process, for JavaScript that would hold its event loop too long. Native code that reads what
 * clients send runs in processes of its own (`host.ts`), as it could take this one down; so can a thread that runs out of
 * memory (seen with Node 20), so that workers must know beforehand how much they need.
 *
 * A thread that overruns its deadline is replaced.
 */

export interface ThreadsOptions {
  readonly name: string;
  /** Which worker they run: a folder of workers/. */
  readonly worker: "body";
  readonly threads: number;
  /** Of JavaScript objects in each: more than it ever needs. */
  readonly memoryBytes: number;
  readonly deadlineMs: number;
  /** Tasks that may wait in all; beyond that those of the client with most are refused as busy. */
  readonly queueLength: number;
  readonly maxWaitMs: number;
  /**
   * A thread without a task for so long is ended, default: half a minute. It takes 0.1 s to start another, while one that is
   * idle collects no garbage, and would keep what it needed for its largest task.
   */
  readonly idleMs?: number;
  readonly log: Log;
}

export interface ThreadTask {
  /** For whom it is: clients take turns, and one has all threads but one at most. */
  readonly client: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Moved to the thread: empty here from then on. */
  readonly moved: readonly ArrayBuffer[];
}

const defaultIdleMs = 30_000;

export interface ThreadCounts {
  /** Threads that there are. */
  readonly alive: number;
  readonly waiting: number;
  readonly running: number;
  /** Tasks that were done since the start. */
  readonly done: number;
  /** Tasks over which a thread was replaced since the start. */
  readonly replaced: number;
}

export class WorkerThreads {
  private readonly pool: Piscina;
  private readonly semaphore: FairSemaphore;
  private done = 0;
  private replaced = 0;

  /** The threads start with the first tasks. */
  constructor(private readonly options: ThreadsOptions) {
    const {
      name,
      worker,
      threads,
      memoryBytes,
      queueLength,
      maxWaitMs,
      idleMs = defaultIdleMs,
      log,
    } = options;
    this.pool = new Piscina({
      filename: fileURLToPath(new URL(`../../workers/${worker}/worker.js`, import.meta.url)),
      minThreads: 0,
      maxThreads: threads,
      concurrentTasksPerWorker: 1,
      atomics: "disabled",
      idleTimeout: idleMs,
      recordTiming: false,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memoryBytes / 1024 ** 2), stackSizeMb: 4 },
    });
    this.pool.on("error", (error: unknown) => log.error({ err: error, threads: name }, "a worker thread"));
    this.semaphore = new FairSemaphore({
      permits: threads,
      kept: Math.min(1, threads - 1),
      mostWaiting: queueLength,
      timeoutMs: maxWaitMs,
      refusal: "The server has too many large bodies to read.",
    });
  }

  /**
   * Runs a task in a thread.
   * @throws HostError when it overran its deadline, or died of its memory
   * @throws Failure busy when too many tasks wait, or this one waited too long; the signal's reason
   */
  async run<Response>(request: object, { client, signal, moved }: ThreadTask): Promise<Response> {
    const release = await this.semaphore.acquire({ owners: clientOwners(client), signal });
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), this.options.deadlineMs);
    try {
      const response: Response = await this.pool.run(request, {
        transferList: [...moved],
        signal: deadline.signal,
      });
      this.done++;
      return response;
    } catch (error) {
      if ((error as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY") {
        this.replaced++;
        throw new HostError("died", `A thread of ${this.options.name} ran out of memory.`);
      }
      if (!deadline.signal.aborted) throw error;
      this.replaced++;
      throw new HostError("deadline", `A thread of ${this.options.name} overran its deadline.`);
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  counts(): ThreadCounts {
    const { semaphore, done, replaced } = this;
    const alive = this.pool.threads.length;
    return { alive, waiting: semaphore.waiting, running: semaphore.held, done, replaced };
  }

  async stop(): Promise<void> {
    await this.pool.destroy();
  }
}
