import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";

/** What the system tells of a process, by /proc, and its share of the cores. */

/** Resident memory of a process in bytes; 0 where the system has no /proc. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * 4096;
  } catch {
    return 0;
  }
}

/** How long each thread of a process has waited for a core since its start, in ms, by thread id. */
export type CoreWaits = ReadonlyMap<string, number>;

/** None where the system does not tell. */
export function coreWaits(pid: number | undefined): CoreWaits {
  const waits = new Map<string, number>();
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const [, waited] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ");
      waits.set(thread, Number(waited) / 1e6);
    }
  } catch {
    // The process or the thread has ended, or there are no such files.
  }
  return waits;
}

/** Longest time in ms that one thread has waited for a core meanwhile. */
export function longestWait(before: CoreWaits, after: CoreWaits): number {
  let longest = 0;
  for (const [thread, waited] of after) longest = Math.max(longest, waited - (before.get(thread) ?? waited));
  return longest;
}

/** By how much hosts are nicer than the server: about a third of its share where they want the same core. */
const niceness = 5;

/** Lets the server answer first what is there already, where both want the same core. */
export function giveWay(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, Math.min(constants.priority.PRIORITY_LOW, getPriority() + niceness));
  } catch {
    // It has ended, or the system does not allow it: then they share evenly.
  }
}
