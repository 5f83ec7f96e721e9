import { rm } from "node:fs/promises";
import { join } from "node:path";
import { inTime } from "../in-time.js";
import type { Log } from "../log.js";
import { removeQuietly } from "../remove-quietly.js";
import { FolderFiles, type NamedFiles } from "./named-files.js";
import { ownFolder, processFolders } from "./process-folders.js";

/** A start does not wait longer for a store that does not answer. */
const firstMs = 10_000;
const everyMs = 30_000;
const stopMs = 500;
/** Icons and keys are smaller. */
const mostBytes = 4_000_000;

export interface MirrorOptions {
  readonly files: NamedFiles;
  /** Where each process has a folder of its own. */
  readonly parent: string;
  readonly log: Log;
  /** Between two looks; default: half a minute. */
  readonly everyMs?: number | undefined;
}

/**
 * A folder of this process with what a store has, looked after every half a minute. While the store does not answer it stays as it
 * is.
 */
export class MirroredFolder {
  /** Versions of what is there, by name. */
  private readonly known = new Map<string, string>();
  private readonly own: FolderFiles;
  private isFailing = false;
  private hasStopped = false;
  private looking: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  private constructor(
    readonly path: string,
    private readonly options: MirrorOptions,
  ) {
    this.own = new FolderFiles(path);
  }

  static async open(options: MirrorOptions): Promise<MirroredFolder> {
    const { parent } = options;
    // Those of processes that were killed.
    await Promise.all((await processFolders(parent)).left.map(removeQuietly));
    const mirror = new MirroredFolder(await ownFolder(parent), options);
    await inTime(mirror.look(), firstMs, () => undefined);
    mirror.timer = setInterval(() => void mirror.look(), options.everyMs ?? everyMs).unref();
    return mirror;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.hasStopped = true;
    // A store that hangs keeps nobody from stopping.
    await inTime(this.looking ?? Promise.resolve(), stopMs, () => undefined);
    await removeQuietly(this.path);
  }

  /** Looks now, or waits for the look that is under way. */
  look(): Promise<void> {
    this.looking ??= this.update().then(
      () => {
        this.isFailing = false;
        this.looking = undefined;
      },
      (error: Error) => {
        if (!this.isFailing)
          this.options.log.warn({ err: error }, "icons or keys cannot be read from the store");
        this.isFailing = true;
        this.looking = undefined;
      },
    );
    return this.looking;
  }

  private async update(): Promise<void> {
    const { files } = this.options;
    const found = (await files.list("")).filter(({ bytes }) => bytes <= mostBytes);
    const names = new Set(found.map(({ name }) => name));
    // What is gone first: nobody may be let in by a key that was taken away.
    for (const name of [...this.known.keys()].filter((known) => !names.has(known))) {
      await rm(join(this.path, name), { force: true });
      this.known.delete(name);
    }
    let failure: unknown;
    for (const { name, version } of found) {
      if (this.known.get(name) === version || this.hasStopped) continue;
      try {
        await this.own.write(name, files.read(name));
        this.known.set(name, version);
      } catch (error) {
        // The others are no worse for it.
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }
}
