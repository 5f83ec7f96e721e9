import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Services of an earlier start whose parent was killed. They end by their parent-death signal, but may be at it
 * still when the next start comes.
 */

/** Processes called `name` whose working folder is `folder`: PostgreSQL and Redis both live in their data folder. */
function processesIn(folder: Stats, name: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== name) return false;
        const cwd = statSync(`/proc/${pid}/cwd`);
        return cwd.ino === folder.ino && cwd.dev === folder.dev;
      } catch {
        return false;
      }
    })
    .map(Number);
}

/**
 * Ends what still runs in a data folder that this process has locked, and waits for it.
 * @param signal asks for an orderly end; after 15 s SIGKILL follows
 */
export async function endLeftovers(path: string, name: string, signal: NodeJS.Signals): Promise<void> {
  const folder = statSync(path, { throwIfNoEntry: false });
  if (!folder) return;
  const began = Date.now();
  let asked = false;
  for (;;) {
    const pids = processesIn(folder, name);
    if (pids.length === 0) return;
    const late = Date.now() - began > 15_000;
    if (!asked || late) {
      for (const pid of pids) {
        try {
          process.kill(pid, late ? "SIGKILL" : signal);
        } catch {
          // Ended in between.
        }
      }
    }
    if (Date.now() - began > 20_000)
      throw new Error(`Processes of an earlier start do not end: ${pids.join(", ")}.`);
    asked = true;
    await sleep(25);
  }
}
