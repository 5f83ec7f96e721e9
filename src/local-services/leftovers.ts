import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Ends what still runs in the folder of a service, and waits for it. After the server was killed its services end by
 * their parent-death signal, which takes a while. Those that do not are killed after 15 s.
 */
export async function endLeftovers(
  folder: string,
  program: string,
  endSignal: NodeJS.Signals,
): Promise<void> {
  let sent: NodeJS.Signals | undefined;
  for (const began = Date.now(); ; await sleep(25)) {
    const pids = processesIn(realpathSync(folder), basename(program));
    if (pids.length === 0) return;
    const waitedMs = Date.now() - began;
    if (waitedMs > 20_000) throw new Error(`Processes of an earlier start do not end: ${pids.join(", ")}.`);
    const signal = waitedMs > 15_000 ? "SIGKILL" : endSignal;
    if (signal === sent && signal !== "SIGKILL") continue;
    sent = signal;
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // Ended in between.
      }
    }
  }
}

/** Processes called `name` whose working folder is `folder` or below it. */
function processesIn(folder: string, name: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== name) return false;
        return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}
