import { setTimeout as sleep } from "node:timers/promises";
import type { Installation } from "./installation.js";
import { processesOf } from "./processes.js";

/** Kills the parts of an installation in turn, with SIGKILL, until it is stopped. */

type Part = "render" | "transfer" | "image" | "PostgreSQL" | "Redis" | "node";

/** The hosts for imports and images are started on demand: they may not be there. */
const turns: readonly Part[] = ["render", "PostgreSQL", "transfer", "Redis", "image", "node"];

export interface Kills {
  /** @returns how often each was killed */
  stop(): Promise<ReadonlyMap<string, number>>;
}

/** @param everySeconds 0 = never @param seconds length of the run: the last kill is early enough to get over */
export function startKills(
  installation: Installation,
  { everySeconds, seconds }: { readonly everySeconds: number; readonly seconds: number },
): Kills {
  const ending = new AbortController();
  const { signal } = ending;
  const killed = new Map<string, number>();
  const run = async () => {
    const started = performance.now();
    for (let turn = 0; everySeconds > 0; turn++) {
      const dueSeconds = everySeconds * (turn + 0.5);
      if (dueSeconds > seconds - everySeconds / 2) return;
      await sleep(Math.max(0, started + 1_000 * dueSeconds - performance.now()), undefined, { signal }).catch(
        () => undefined,
      );
      if (signal.aborted) return;
      const part = turns[turn % turns.length]!;
      // The first node keeps its process, so that one can be watched over the whole run.
      const node = part === "node" ? 1 : Math.floor(turn / 2) % 2;
      const pid = await pidOf(installation, part, node, signal);
      if (pid !== undefined && kill(pid)) killed.set(part, (killed.get(part) ?? 0) + 1);
    }
  };
  const running = run();
  return {
    stop: async () => {
      ending.abort();
      await running;
      return killed;
    },
  };
}

/** @returns false when it ended by itself before */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

/** Of what runs; services are waited for. */
async function pidOf(
  { nodes, services }: Installation,
  part: Part,
  node: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { pid } = nodes[node]!;
  if (part === "node") return pid || undefined;
  if (part !== "PostgreSQL" && part !== "Redis")
    return processesOf(pid).find(({ role }) => role === part)?.pid;
  while (!signal.aborted) {
    const running = services();
    if (running) return part === "Redis" ? running.redis : running.database;
    await sleep(50);
  }
  return undefined;
}
