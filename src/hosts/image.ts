import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { WorkerHost } from "./host.js";
import { LazyHost } from "./lazy-host.js";
import type { ImageMessages } from "./messages.js";

const archiveFactor = 6;

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
  const host = new LazyHost(start);
  return {
    call: async (kind, request) =>
      host.call(kind, request, {
        // An archive has thousands of pictures.
        deadlineMs: config.images.deadlineMs * (kind === "pictures" ? archiveFactor : 1),
      }),
    get pid() {
      return host.pid;
    },
    counts: () => host.counts(),
    stop: () => host.stop(),
  };
}
