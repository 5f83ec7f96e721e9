import {
  type CallOptions,
  type HostCounts,
  HostError,
  type HostOptions,
  type Messages,
  WorkerHost,
} from "./host.js";
import { LazyHost } from "./lazy-host.js";
import { Overruns } from "./overruns.js";

/** For so long after the last task that is tried again its process is kept. */
const idleMs = 30_000;

/**
 * A host that tries a task once more whose child ended, be it over this task, over one beside it, or from outside: alone, in
 * a process of its own. So the task that crashes its process is recognized, and what others ask for does not wait meanwhile.
 */
export class RetryingHost<M extends Messages> extends WorkerHost<M> {
  /** Runs what is tried again. */
  readonly apart: LazyHost<M>;

  /** @param own options of the process apart that differ */
  constructor(options: HostOptions, own: Partial<HostOptions> = {}) {
    const shared = { ...options, overruns: new Overruns() };
    super(shared);
    this.apart = new LazyHost(() => new WorkerHost<M>({ ...shared, concurrency: 1, ...own }), idleMs);
  }

  override async call<K extends keyof M & string>(
    kind: K,
    request: M[K][0],
    options: CallOptions,
  ): Promise<M[K][1]> {
    try {
      return await super.call(kind, request, options);
    } catch (error) {
      if (!(error instanceof HostError) || !error.mayBeInnocent) throw error;
      return this.apart.call(kind, request, { ...options, isAgain: true });
    }
  }

  override counts(): HostCounts {
    const [own, apart] = [super.counts(), this.apart.counts()];
    return {
      waiting: own.waiting + apart.waiting,
      running: own.running + apart.running,
      restarts: own.restarts + apart.restarts,
      refused: own.refused + apart.refused,
    };
  }

  override renew(): void {
    super.renew();
    this.apart.renew();
  }

  override async stop(): Promise<void> {
    await Promise.all([super.stop(), this.apart.stop()]);
  }
}
