import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { WorkerHost } from "./host.js";
import type { ImageMessages } from "./messages.js";

type Host = WorkerHost<ImageMessages & Record<string, [unknown, unknown]>>;

/** The child process with libvips. It is started at the first task and ends when it has been idle for a while. */
export interface ImageHost {
  /** As `WorkerHost.call`. */
  call<K extends keyof ImageMessages>(kind: K, request: ImageMessages[K][0]): Promise<ImageMessages[K][1]>;
  /** Process id; undefined while none runs. */
  readonly pid: number | undefined;
  counts(): { readonly waiting: number; readonly running: number; readonly restarts: number };
  stop(): Promise<void>;
}

const idleMs = 300_000;
const none = { waiting: 0, running: 0, restarts: 0 };

class LazyImageHost implements ImageHost {
  private host: Host | undefined;
  private idle: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly start: () => Host,
    private readonly deadlineMs: number,
  ) {}

  async call<K extends keyof ImageMessages>(
    kind: K,
    request: ImageMessages[K][0],
  ): Promise<ImageMessages[K][1]> {
    if (this.stopped) throw new Error("The image host is stopped.");
    this.host ??= this.start();
    this.scheduleStop();
    const response = await this.host.call(kind, request, { deadlineMs: this.deadlineMs });
    return response as ImageMessages[K][1];
  }

  /** Stops the host some time after its last task. */
  private scheduleStop(): void {
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      const host = this.host;
      if (!host) return;
      const { waiting, running } = host.counts();
      if (waiting + running > 0) return this.scheduleStop();
      this.host = undefined;
      void host.stop();
    }, idleMs);
    this.idle.unref();
  }

  get pid(): number | undefined {
    return this.host?.pid;
  }

  counts() {
    return this.host?.counts() ?? none;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.idle);
    await this.host?.stop();
  }
}

/** The image host of a node. No process is started yet. */
export function createImageHost(config: Config, log: Log): ImageHost {
  const start = (): Host =>
    new WorkerHost({
      name: "image",
      worker: "image",
      environment: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        LANG: "C.UTF-8",
        TZ: "UTC",
        UV_THREADPOOL_SIZE: "4",
        // Readers that libvips itself does not trust stay off.
        VIPS_BLOCK_UNTRUSTED: "1",
      },
      concurrency: 2,
      queueLength: 256,
      maxWaitMs: config.images.deadlineMs,
      memoryBytes: config.images.hostBytes,
      retry: true,
      log,
    });
  return new LazyImageHost(start, config.images.deadlineMs);
}
