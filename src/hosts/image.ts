import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { HostError } from "./host.js";
import { LazyHost } from "./lazy-host.js";
import type { ImageMessages } from "./messages.js";
import { RetryingHost } from "./retrying-host.js";

const archiveFactor = 6;

/**
 * Tasks of equal length: each of these has slots of its own, so that what takes long keeps no icon waiting. Printing has a
 * thread of its own as well.
 */
const groups: Readonly<Record<keyof ImageMessages, string>> = {
  draw: "short",
  mosaic: "short",
  ping: "short",
  resize: "resize",
  print: "long",
  pictures: "long",
  font: "long",
};
const slotsOfGroup = 2;
/** One more than two groups can take. */
const slots = 2 * slotsOfGroup + 1;

/** For whom an image is made. */
export interface ImageUser {
  /** Clients take turns. */
  readonly client: string;
  /** Takes what waits out of the queue when the client leaves. */
  readonly signal: AbortSignal;
}

/** For a file that the host failed at: throws `failure`, or `error` when it is another one, or the host is being stopped. */
export function blameFile(error: unknown, failure: Error): never {
  throw error instanceof HostError && error.reason !== "stopped" ? failure : error;
}

type Tasks = ImageMessages & Record<string, [unknown, unknown]>;

/** The child process with libvips. It is started at the first task and ends when it has been idle for a while. */
export interface ImageHost {
  /** As `WorkerHost.call`. @param user absent = the server itself */
  call<K extends keyof ImageMessages>(
    kind: K,
    request: ImageMessages[K][0],
    user?: ImageUser,
  ): Promise<ImageMessages[K][1]>;
  /** Process id; undefined while none runs. */
  readonly pid: number | undefined;
  counts(): { readonly waiting: number; readonly running: number; readonly restarts: number };
  stop(): Promise<void>;
}

/** The image host of a node. No process is started yet. */
export function createImageHost(config: Config, log: Log): ImageHost {
  const start = () =>
    new RetryingHost<Tasks>({
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
      concurrency: slots,
      mostOfOwner: slotsOfGroup,
      queueLength: 256,
      maxWaitMs: config.images.deadlineMs,
      memoryBytes: config.images.hostBytes,
      log,
    });
  const host = new LazyHost<Tasks>(start);
  return {
    call: async (kind, request, user) =>
      host.call(kind, request, {
        ...user,
        owner: groups[kind],
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
