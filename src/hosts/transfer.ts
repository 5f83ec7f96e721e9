import type { Config } from "../config.js";
import { busy, type Failure, failed } from "../errors.js";
import type { Log } from "../log.js";
import { FairSemaphore } from "../turns/fair-semaphore.js";
import { hostEnvironment } from "./environment.js";
import { FatalFiles } from "./fatal-files.js";
import { HostError, WorkerHost } from "./host.js";
import type { ImportProgress, ImportRequest, ImportResponse } from "./import-messages.js";
import { gdalLimits, importIsolation } from "./isolation.js";
import type { TransferMessages } from "./messages.js";

export interface TransferOptions {
  /** Ends the reading of a file, also of one that is being read. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Whose file it is; owners take turns. */
  readonly owner?: string | undefined;
}

/**
 * Child processes that read files of geodata through GDAL, each one at a time. A file may take an hour, so that there is a second
 * one, which is started when files of two owners are to be read at once.
 */
export interface TransferHost {
  /**
   * Takes a place, which an import has from before it opens a connection to its end.
   * @returns what gives it back; @throws Failure busy when there is none, or the owner has its share
   */
  place(owner: string | undefined): () => void;
  /**
   * @throws Failure import_failed when the host died, failed or overran its deadline over this file, or has done so lately; busy
   *   when it was killed from outside or is being stopped; the reason of the signal
   */
  import(request: ImportRequest, options?: TransferOptions): Promise<ImportResponse>;
  readonly ready: boolean;
  /** Resolves when it can take files. */
  whenReady(): Promise<void>;
  readonly pid: number | undefined;
  counts(): { readonly waiting: number; readonly running: number; readonly restarts: number };
  stop(): Promise<void>;
}

/** Imports of a node that wait or run, each with a connection to the database; and those of one owner. */
const places = 64;
const placesOfOwner = 16;

const fatalText =
  "The process that reads files has ended over this file before, so that it is not read again for a while.";

type Host = WorkerHost<TransferMessages & Record<string, [unknown, unknown]>>;

class SupervisedTransferHost implements TransferHost {
  private readonly placed: (string | undefined)[] = [];
  private readonly fatal = new FatalFiles();
  private readonly turns: FairSemaphore;
  private readonly host: Host;
  private second: Host | undefined;
  /** Those that read a file. */
  private readonly reading = new Set<Host>();
  private isStopped = false;

  constructor(
    private readonly start: () => Host,
    private readonly deadlineMs: number,
    private readonly log: Log,
  ) {
    this.host = start();
    this.turns = new FairSemaphore({
      permits: 2,
      kept: 1,
      mostWaiting: places,
      timeoutMs: deadlineMs,
      refusal: "Too many imports are running already.",
    });
  }

  place(owner: string | undefined): () => void {
    const own = owner === undefined ? 0 : this.placed.filter((one) => one === owner).length;
    if (this.placed.length >= places || own >= placesOfOwner)
      throw busy("Too many imports are running already.", 10);
    this.placed.push(owner);
    return () => void this.placed.splice(this.placed.indexOf(owner), 1);
  }

  async import(
    request: ImportRequest,
    { signal, onProgress, owner }: TransferOptions = {},
  ): Promise<ImportResponse> {
    const release = await this.turns.acquire({ owners: [owner ?? ""], ...(signal && { signal }) });
    try {
      return await this.read(request, { signal, onProgress });
    } finally {
      release();
    }
  }

  private async read(
    request: ImportRequest,
    { signal, onProgress }: Omit<TransferOptions, "owner">,
  ): Promise<ImportResponse> {
    if (!(await this.fatal.admits(request, signal))) throw failed("import_failed", fatalText);
    const host = this.idle();
    this.reading.add(host);
    const begun = performance.now();
    try {
      const response = await host.call("import", request, {
        deadlineMs: this.deadlineMs,
        ...(signal ? { signal, endsChild: true } : {}),
        ...(onProgress ? { onProgress: onProgress as (progress: unknown) => void } : {}),
      });
      await this.fatal.read(request);
      return response;
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      this.log.warn({ err: error }, "a file could not be imported");
      throw await this.failureOf(error, request, begun);
    } finally {
      this.reading.delete(host);
    }
  }

  private idle(): Host {
    if (this.isStopped || !this.reading.has(this.host)) return this.host;
    this.second ??= this.start();
    return this.second;
  }

  private async failureOf({ reason }: HostError, request: ImportRequest, begun: number): Promise<Failure> {
    switch (reason) {
      case "died":
        await this.fatal.crashed(request);
        return failed("import_failed", "The file could not be read: the process that read it ended.");
      case "killed":
        if (await this.fatal.killed(request, begun)) return failed("import_failed", fatalText);
        return busy("The file was not read: the process that read it was killed. Send it again.", 2);
      case "deadline":
        return failed(
          "import_failed",
          `The file could not be read within ${this.deadlineMs / 1_000} seconds.`,
        );
      case "stopped":
        return busy("The file was not read, because the server is being stopped.", 2);
      case "failed":
        await this.fatal.read(request);
        return failed("import_failed", "The file could not be read, because of an unexpected error.");
    }
  }

  get ready(): boolean {
    return this.host.ready;
  }
  whenReady(): Promise<void> {
    return this.host.whenReady();
  }
  get pid(): number | undefined {
    return this.host.pid;
  }
  counts() {
    const hosts = [this.host, ...(this.second ? [this.second] : [])].map((host) => host.counts());
    const sum = (of: "waiting" | "running" | "restarts" | "refused") =>
      hosts.reduce((total, counts) => total + counts[of], 0);
    return {
      waiting: this.turns.waiting + sum("waiting"),
      running: sum("running"),
      restarts: sum("restarts"),
      refused: sum("refused"),
    };
  }
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all([this.host.stop(), this.second?.stop()]);
  }
}

/** Starts the child process with GDAL. */
export function startTransferHost(config: Config, log: Log): TransferHost {
  const start = (): Host =>
    new WorkerHost({
      name: "transfer",
      worker: "transfer",
      environment: {
        ...hostEnvironment(config.databaseUrl, 4, 0),
        ...importIsolation,
        OGR_GEOJSON_MAX_OBJ_SIZE: "512",
      },
      concurrency: 1,
      queueLength: 64,
      maxWaitMs: config.transfer.deadlineMs,
      memoryBytes: config.transfer.memoryBytes,
      limits: gdalLimits({
        memoryBytes: config.transfer.memoryBytes,
        fileBytes: Math.max(config.transfer.unpackedBytes, config.transfer.rasterBytes),
      }),
      jobsPerChild: config.transfer.jobsPerHost,
      retry: false,
      log,
    });
  return new SupervisedTransferHost(start, config.transfer.deadlineMs, log);
}
