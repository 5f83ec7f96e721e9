import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Piscina } from "piscina";
import { socketPort } from "./render/database/socket.js";

/**
 * The process of a worker host: receives tasks from the server process, runs them in Piscina threads and answers.
 * Arguments: the worker (render, transfer, image) and how many tasks it is given at once.
 */

interface TaskMessage {
  readonly id: number;
  readonly kind: string;
  readonly request: unknown;
}

const [worker = "", concurrency = "1"] = process.argv.slice(2);

/**
 * Only one thread of a process may load a native library. CartoCSS is compiled in plain JavaScript, in a thread that can
 * be ended without disturbing renders.
 */
const threads: Record<string, Record<string, string>> = {
  render: { default: "render/worker.js", compile: "render/compile-worker.js" },
  transfer: { default: "transfer/worker.js" },
  image: { default: "image/worker.js", print: "image/print/worker.js" },
};
const files = threads[worker];
if (!files) throw new Error(`There is no worker "${worker}".`);

// Where Mapnik looks for the database first (render/database/server.ts). Only here do changes of the environment reach it.
const { MAPWRIGHT_SOCKETS: sockets, PGHOST: databaseHost = "", PGPORT: databasePort = "" } = process.env;
if (worker === "render" && sockets !== undefined) {
  // A pooler would keep what Mapnik sets in its sessions.
  const isPooled = process.env.MAPWRIGHT_DATABASE_SETTING !== undefined;
  process.env.PGHOST = isPooled ? sockets : `${sockets},${databaseHost}`;
  process.env.PGPORT = isPooled ? String(socketPort) : `${socketPort},${databasePort}`;
}

const pools = new Map(
  Object.entries(files).map(([kind, file]) => [
    kind,
    new Piscina({
      filename: fileURLToPath(new URL(file, import.meta.url)),
      // Printing is rare: its thread starts with the first document.
      minThreads: kind === "print" ? 0 : 1,
      // While one compiles a style for long, another one is there for those of other projects.
      maxThreads: kind === "compile" ? 2 : 1,
      concurrentTasksPerWorker: kind === "default" ? Number(concurrency) : 1,
      // With 'sync' the event loop of a worker stops between tasks, and asynchronous renders never finish.
      atomics: "disabled",
      idleTimeout: Number.POSITIVE_INFINITY,
      ...(kind === "compile" ? { resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 } } : {}),
    }),
  ]),
);

async function run(task: TaskMessage): Promise<unknown> {
  const pool = pools.get(task.kind);
  if (!pool) return pools.get("default")!.run(task);
  if (task.kind !== "compile") return pool.run(task.request);
  const { deadlineMs } = task.request as { deadlineMs: number };
  // A new thread takes a while to load, which must not count against the style's deadline.
  await pool.run(null);
  try {
    return await pool.run(task.request, { signal: AbortSignal.timeout(deadlineMs) });
  } catch (error) {
    const name = (error as Error).name;
    if (name === "AbortError" || name === "TimeoutError") {
      return {
        ok: false,
        error: `The style takes longer than ${deadlineMs / 1000} s to compile.`,
        deadline: true,
      };
    }
    if ((error as { code?: string }).code === "ERR_WORKER_OUT_OF_MEMORY") {
      return { ok: false, error: "The style needs too much memory to compile." };
    }
    throw error;
  }
}

// The error is ignored: when the server process has ended, the channel is closed.
const sendToParent = (message: unknown) => process.send?.(message, undefined, undefined, () => undefined);

// Workers tell the progress of a task as { id, progress }.
for (const pool of pools.values()) pool.on("message", sendToParent);
// A thread that is ended over its deadline may run out of memory before: its task is answered, and it has been replaced. The
// one with the native library is not: its process ends.
for (const [kind, pool] of pools) if (kind !== "default") pool.on("error", () => undefined);

process.on("message", (task: TaskMessage) => {
  run(task).then(
    (response) => sendToParent({ id: task.id, ok: true, response }),
    (error: Error) => sendToParent({ id: task.id, ok: false, error: error.message }),
  );
});
// The server process has ended. An exit would wait for threads, one of which may be in a call that never returns.
process.on("disconnect", () => {
  if (sockets !== undefined) rmSync(sockets, { recursive: true, force: true });
  process.kill(process.pid, "SIGKILL");
});
// On a signal to the process group the server decides when this process ends.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => process.exit(0));

await pools.get("default")!.run({ id: 0, kind: "ping", request: null });
sendToParent("ready");
