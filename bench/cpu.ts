import { readdirSync, readFileSync } from "node:fs";

/** CPU time as Linux accounts for it, so that a measure does not depend on what else the machine does. */

/** Ticks a second in /proc/<pid>/stat: USER_HZ, 100 on every Linux. */
const ticksPerSecond = 100;

interface Accounted {
  readonly parent: number;
  /** User and system time of the process and of its ended children, in ticks. */
  readonly ticks: number;
}

function accounted(pid: string): Accounted | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined; // ended meanwhile
  }
  // The second field, the name, may itself hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), ticks };
}

/** The process that has started a process; 0 = that one has ended. */
export const parentOf = (pid: number): number => accounted(String(pid))?.parent ?? 0;

/** CPU seconds that a process itself, with its ended children, has used so far. */
export const ownCpuSeconds = (pid: number): number => (accounted(String(pid))?.ticks ?? 0) / ticksPerSecond;

/** CPU seconds that these processes and all their descendants, ended ones too, have used so far. */
export function cpuSeconds(roots: readonly number[]): number {
  const processes = new Map<number, Accounted>();
  for (const name of readdirSync("/proc")) {
    const found = /^\d+$/.test(name) ? accounted(name) : undefined;
    if (found) processes.set(Number(name), found);
  }
  const counted = new Set<number>();
  const visit = (pid: number): number => {
    const process = processes.get(pid);
    if (!process || counted.has(pid)) return 0;
    counted.add(pid);
    let ticks = process.ticks;
    for (const [child, { parent }] of processes) if (parent === pid) ticks += visit(child);
    return ticks;
  };
  return roots.reduce((sum, pid) => sum + visit(pid), 0) / ticksPerSecond;
}
