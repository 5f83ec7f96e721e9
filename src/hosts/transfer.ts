import type { Config } from "../config.js";
import { busy, type Failure, failed } from "../errors.js";
import type { Log } from "../log.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { addressOf, hostEnvironment } from "./environment.js";
import { FatalFiles } from "./fatal-files.js";
import { HostError, WorkerHost } from "./host.js";
import type { ImportProgress, ImportRequest, ImportResponse } from "./import-messages.js";
import { gdalLimits, importIsolation } from "./isolation.js";
import { LazyHost } from "./lazy-host.js";
import type { TransferMessages } from "./messages.js";

export interface TransferOptions {
  /** Ends the reading of a file, also of one that is being read. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Whose file it is; owners take turns. */
  readonly owner?: string | undefined;
  /** Who sent it: those of one owner take turns, too. */
  readonly account?: string | undefined;
}

/**
 * Child processes that read files of geodata through GDAL, each one at a time. A file may take an hour, so that there are two,
 * for files of two owners. They are started when they are needed, and end some time after their last file.
 */
export interface TransferHost {
  /**
   * Takes a slot, which an import has from before it opens a connection to its end.
   * @returns what gives it back; @throws Failure busy when there is none, or the owner, or its account, has its share
   */
  takeSlot(owner: string | undefined, account?: string): () => void;
  /**
   * @throws Failure import_failed when the host died, failed or overran its deadline over this file, or has done so lately; busy
   *   when it was killed from outside or is being stopped; the reason of the signal
   */
  import(request: ImportRequest, options?: TransferOptions): Promise<ImportResponse>;
  /** False while a process that has ended is being replaced. */
  readonly ready: boolean;
  /** Starts a process, and resolves when it can take files. */
  whenReady(): Promise<void>;
  readonly pid: number | undefined;
  counts(): { readonly waiting: number; readonly running: number; readonly restarts: number };
  stop(): Promise<void>;
}

/** Imports of a node that wait or run, each with a connection to the database; those of one owner; and of an account of it. */
const slots = 64;
const slotsOfOwner = 16;
const slotsOfAccount = 12;

const fatalText =
  "The process that reads files has ended over this file before, so that it is not read again for a while.";

type Messages = TransferMessages & Record<string, [unknown, unknown]>;

class SupervisedTransferHost implements TransferHost {
  private readonly slotHolders: { readonly owner: string; readonly account: string }[] = [];
  private readonly fatal = new FatalFiles();
  private readonly semaphore: FairSemaphore;
  private readonly hosts: readonly [LazyHost<Messages>, LazyHost<Messages>];
  /** Those that read a file. */
  private readonly reading = new Set<LazyHost<Messages>>();

  constructor(
    start: () => WorkerHost<Messages>,
    private readonly deadlineMs: number,
    private readonly log: Log,
  ) {
    this.hosts = [new LazyHost(start), new LazyHost(start)];
    this.semaphore = new FairSemaphore({
      permits: this.hosts.length,
      kept: 1,
      mostWaiting: slots,
      timeoutMs: deadlineMs,
      refusal: "Too many imports are running already.",
    });
  }

  takeSlot(owner: string | undefined, account = ""): () => void {
    const one = { owner: owner ?? "", account };
    const own = owner === undefined ? [] : this.slotHolders.filter((other) => other.owner === owner);
    const ofAccount = own.filter((other) => other.account === account).length;
    if (this.slotHolders.length >= slots || own.length >= slotsOfOwner || ofAccount >= slotsOfAccount)
      throw busy("Too many imports are running already.", 10);
    this.slotHolders.push(one);
    return () => {
      const at = this.slotHolders.indexOf(one);
      if (at >= 0) this.slotHolders.splice(at, 1);
    };
  }

  async import(
    request: ImportRequest,
    { signal, onProgress, owner = "", account = "" }: TransferOptions = {},
  ): Promise<ImportResponse> {
    const release = await this.semaphore.acquire({ owners: [owner, account], ...(signal && { signal }) });
    try {
      return await this.read(request, { signal, onProgress });
    } finally {
      release();
    }
  }

  private async read(
    request: ImportRequest,
    { signal, onProgress }: Pick<TransferOptions, "signal" | "onProgress">,
  ): Promise<ImportResponse> {
    if (!(await this.fatal.admits(request, signal))) throw failed("import_failed", fatalText);
    const host = this.hosts.find((one) => !this.reading.has(one))!;
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
    return this.hosts.every((host) => host.ready);
  }
  whenReady(): Promise<void> {
    return this.hosts[0].whenReady();
  }
  get pid(): number | undefined {
    return this.hosts[0].pid;
  }
  counts() {
    const hosts = this.hosts.map((host) => host.counts());
    const sum = (of: "waiting" | "running" | "restarts" | "refused") =>
      hosts.reduce((total, counts) => total + counts[of], 0);
    return {
      waiting: this.semaphore.waiting + sum("waiting"),
      running: sum("running"),
      restarts: sum("restarts"),
      refused: sum("refused"),
    };
  }
  async stop(): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.stop()));
  }
}

/** The transfer host of a node or a command. No process is started yet. */
export function createTransferHost(config: Config, log: Log): TransferHost {
  const start = () =>
    new WorkerHost<Messages>({
      name: "transfer",
      worker: "transfer",
      environment: {
        // Each import says which server a pooler has to lead to.
        ...hostEnvironment(addressOf(config), 4, 0),
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
      log,
    });
  return new SupervisedTransferHost(start, config.transfer.deadlineMs, log);
}
