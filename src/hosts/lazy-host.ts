import { type CallOptions, type HostCounts, HostError, type Messages, type WorkerHost } from "./host.js";

const none: HostCounts = { waiting: 0, running: 0, restarts: 0, refused: 0 };

/** A host whose process is started at the first task and ends when it has been idle for a while. */
export class LazyHost<M extends Messages> {
  private host: WorkerHost<M> | undefined;
  private idle: NodeJS.Timeout | undefined;
  private stopped = false;
  /** Of processes that ended as they were idle. */
  private readonly past = { restarts: 0, refused: 0 };

  constructor(
    private readonly start: () => WorkerHost<M>,
    private readonly idleMs = 300_000,
  ) {}

  /** As `WorkerHost.call`. */
  async call<K extends keyof M & string>(kind: K, request: M[K][0], options: CallOptions): Promise<M[K][1]> {
    return this.started().call(kind, request, options);
  }

  private started(): WorkerHost<M> {
    if (this.stopped) throw new HostError("stopped", "The host is stopped.");
    this.host ??= this.start();
    this.scheduleStop();
    return this.host;
  }

  /** Stops the host some time after its last task. */
  private scheduleStop(): void {
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      const host = this.host;
      if (!host) return;
      const { waiting, running, restarts, refused } = host.counts();
      if (waiting + running > 0) return this.scheduleStop();
      this.past.restarts += restarts;
      this.past.refused += refused;
      this.host = undefined;
      void host.stop();
    }, this.idleMs);
    this.idle.unref();
  }

  /** False when its process has ended or could not be started, until the next one is there. One that starts for the first time is ready. */
  get ready(): boolean {
    if (!this.host) return !this.stopped;
    return this.host.ready || this.host.counts().restarts === 0;
  }

  /** Starts the process, and resolves when it can take tasks. */
  async whenReady(): Promise<void> {
    await this.started().whenReady();
  }

  /** As `WorkerHost.renew`, if a process runs. */
  renew(): void {
    this.host?.renew();
  }

  /** Process id; undefined while none runs. */
  get pid(): number | undefined {
    return this.host?.pid;
  }

  counts(): HostCounts {
    const { waiting, running, restarts, refused } = this.host?.counts() ?? none;
    return {
      waiting,
      running,
      restarts: this.past.restarts + restarts,
      refused: this.past.refused + refused,
    };
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.idle);
    await this.host?.stop();
  }
}
