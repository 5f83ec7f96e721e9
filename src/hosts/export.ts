import type { Config } from "../config.js";
import { busy, Failure, failed } from "../errors.js";
import type { Log } from "../log.js";
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

/**
 * The child process that writes files of geodata, through GDAL, and of tiles. It is another than that of imports, so that
 * neither waits for the other; it is started at the first export and ends when it has been idle for a while.
 */
export interface ExportHost {
  /**
   * Aborting the signal ends the task, also while it runs.
   * @throws Failure busy when too many exports wait or there is no room for files, invalid_value when the files would be too large
   */
  write(request: ExportFileRequest, signal: AbortSignal): Promise<WrittenFiles>;
  /** Makes one file of drawn tiles; otherwise as `write`. */
  writeTiles(request: TileFileRequest, signal: AbortSignal): Promise<WrittenTiles>;
  /** Process id; undefined while none runs. */
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
      queueLength,
      maxWaitMs: deadlineMs,
      memoryBytes,
      limits: gdalLimits({ memoryBytes, fileBytes: fileBytes + batchRoom }),
      jobsPerChild: config.transfer.jobsPerHost,
      retry: false,
      log,
    });
  const host = new LazyHost(start);
  const call = <Kind extends "export" | "tiles">(
    kind: Kind,
    request: ExportMessages[Kind][0],
    signal: AbortSignal,
  ): Promise<ExportMessages[Kind][1]> =>
    host.call(kind, request, { deadlineMs, signal, endsChild: true }).catch(hostFailed);
  return {
    write: async (request, signal) => written(await call("export", request, signal)),
    writeTiles: async (request, signal) => written(await call("tiles", request, signal)),
    get pid() {
      return host.pid;
    },
    counts: () => host.counts(),
    stop: () => host.stop(),
  };
}

function written<Response extends { readonly ok: true }>(
  response: Response | Extract<ExportFileResponse, { ok: false }>,
): Response {
  if (response.ok) return response;
  throw response.reason === "no_room" ? busy(response.error) : failed("invalid_value", response.error);
}

function hostFailed(error: Error): never {
  if (error instanceof Failure || !(error instanceof HostError)) throw error;
  if (error.reason === "deadline") throw busy("The export took too long. Try it with fewer objects.");
  throw error;
}
