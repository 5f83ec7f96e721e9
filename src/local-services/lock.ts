import { spawnSync } from "node:child_process";
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

/** Another process runs private services on the same data folder. */
export class AlreadyRunning extends Error {
  constructor(
    readonly dataDir: string,
    readonly pid: number | undefined,
  ) {
    super(
      `Another mapwright process${pid ? ` (process ${pid})` : ""} is running with the data folder ${dataDir}.`,
    );
    this.name = "AlreadyRunning";
  }
}

/**
 * Locks a data folder; the returned function unlocks it.
 *
 * The lock is a `flock` on an open file of this process, so the kernel releases it however the process ends: there
 * are no stale locks. Node has no call for it. The command `flock` takes it on the open file that it inherits, and
 * the lock stays with the open file.
 * @throws AlreadyRunning
 * @throws Error when the folder cannot be made or written to
 */
export function lockDataDir(dataDir: string): () => void {
  makeFolder(dataDir);
  const path = join(dataDir, "lock");
  const fd = openSync(path, "a+", 0o600);
  const taken = spawnSync("flock", ["--exclusive", "--nonblock", "3"], {
    stdio: ["ignore", "ignore", "pipe", fd],
  });
  if (taken.status !== 0) {
    closeSync(fd);
    if (taken.error) throw new Error(`flock cannot be run: ${taken.error.message}`, { cause: taken.error });
    const pid = Number.parseInt(readFileSync(path, "utf8"), 10);
    throw new AlreadyRunning(dataDir, Number.isNaN(pid) ? undefined : pid);
  }
  ftruncateSync(fd);
  writeSync(fd, `${process.pid}\n`);
  return () => {
    ftruncateSync(fd);
    closeSync(fd);
  };
}

/** Makes a folder and those above it. Node's own recursion never ends where the system says that nothing can be there, as in `/proc`. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw new Error(`The data folder ${path} cannot be made: ${(error as Error).message}`, { cause: error });
  }
}
