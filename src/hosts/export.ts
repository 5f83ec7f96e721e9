import type { Config } from "../config.js";
import { busy, Failure, failed } from "../errors.js";
import type { Log } from "../log.js";
import { clientOwners } from "../queues/clients.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import type {
  ExportFileRequest,
  ExportFileResponse,
  ExportMessages,
  TileFileRequest,
  TileFileResponse,
} from "./export-messages.js";
import { HostError, WorkerHost } from "./host.js";
import { exportIsolation, gdalLimits } from "./isolation.js";
import { LazyHost } from "./lazy-host.js";

/** For whom a file is written: projects have turns, and clients within them. */
export interface ExportUser {
  /** Id of the project. */
  readonly project: number;
  /** Account or network; "" = the server's operator. */
  readonly client: string;
  readonly signal: AbortSignal;
}

/**
 * The child processes that write files of geodata, through GDAL, and of tiles. They are others than that of imports, so that
 * neither waits for the other; they are started when they are needed and end when they have been idle for a while. There are two, of
 * which one project has one as long as others may come: what it writes may take half an hour.
 */
export interface ExportHost {
  /**
   * Aborting the signal ends the task, also while it runs.
   * @throws Failure busy when too many exports wait or there is no room for files, invalid_value when the files would be too large
   */
  write(request: ExportFileRequest, user: ExportUser): Promise<WrittenFiles>;
  /** Makes one file of drawn tiles; otherwise as `write`. */
  writeTiles(request: TileFileRequest, user: ExportUser): Promise<WrittenTiles>;
  /** Of the first process; undefined while it does not run. */
  readonly pid: number | undefined;
  counts(): { readonly waiting: number; readonly running: number; readonly restarts: number };
  stop(): Promise<void>;
}

export type WrittenFiles = Extract<ExportFileResponse, { ok: true }>;
export type WrittenTiles = Extract<TileFileResponse, { ok: true }>;

type Host = WorkerHost<ExportMessages & Record<string, [unknown, unknown]>>;

/** A file may be larger than allowed until its size is looked at, after each batch. */
const batchRoom = 64 * 1024 ** 2;

/** The export host of a node or a command. No process is started yet. */
export function createExportHost(config: Config, log: Log): ExportHost {
  const { deadlineMs, memoryBytes, fileBytes, queueLength } = config.exports;
  const start = (): Host =>
    new WorkerHost({
      name: "export",
      worker: "transfer",
      environment: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        LANG: "C.UTF-8",
        TZ: "UTC",
        UV_THREADPOOL_SIZE: "4",
        ...exportIsolation,
        // A GeoPackage that is not completed is removed.
        OGR_SQLITE_SYNCHRONOUS: "OFF",
        OGR_SQLITE_JOURNAL: "OFF",
      },
      concurrency: 1,
      // Who waits does it before.
      queueLength: 1,
      maxWaitMs: deadlineMs,
      memoryBytes,
      limits: gdalLimits({ memoryBytes, fileBytes: fileBytes + batchRoom }),
      jobsPerChild: config.transfer.jobsPerHost,
      log,
    });
  const hosts = [new LazyHost(start), new LazyHost(start)] as const;
  const writing = new Set<(typeof hosts)[number]>();
  const semaphore = new FairSemaphore({
    permits: hosts.length,
    kept: 1,
    mostWaiting: queueLength,
    timeoutMs: deadlineMs,
    refusal: "Too many exports are being written already. Try again later.",
    retrySeconds: 30,
  });
  const call = async <Kind extends "export" | "tiles">(
    kind: Kind,
    request: ExportMessages[Kind][0],
    { project, client, signal }: ExportUser,
  ): Promise<ExportMessages[Kind][1]> => {
    const release = await semaphore.acquire({ owners: [`p${project}`, ...clientOwners(client)], signal });
    const host = hosts.find((one) => !writing.has(one))!;
    writing.add(host);
    try {
      return await host.call(kind, request, { deadlineMs, signal, endsChild: true }).catch(hostFailed);
    } finally {
      writing.delete(host);
      release();
    }
  };
  return {
    write: async (request, user) => written(await call("export", request, user)),
    writeTiles: async (request, user) => written(await call("tiles", request, user)),
    get pid() {
      return hosts[0].pid;
    },
    counts: () => ({
      waiting: semaphore.waiting,
      running: writing.size,
      restarts: hosts.reduce((sum, host) => sum + host.counts().restarts, 0),
    }),
    stop: async () => {
      await Promise.all(hosts.map((host) => host.stop()));
    },
  };
}

function written<Response extends { readonly ok: true }>(
  response: Response | Extract<ExportFileResponse, { ok: false }>,
): Response {
  if (response.ok) return response;
  throw response.reason === "too_large" ? failed("invalid_value", response.error) : busy(response.error);
}

function hostFailed(error: Error): never {
  if (error instanceof Failure || !(error instanceof HostError)) throw error;
  if (error.reason === "deadline") throw busy("The export took too long. Try it with fewer objects.");
  throw error;
}
