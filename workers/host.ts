import { fileURLToPath } from "node:url";
import { Piscina } from "piscina";

/**
 * The process of a worker host: takes tasks from the front process, runs them in Piscina threads, answers.
 * Arguments: the worker (render, transfer, image) and how many tasks it is given at once.
 */

interface TaskMessage {
  readonly id: number;
  readonly kind: string;
  readonly request: unknown;
}

const [worker = "", concurrency = "1"] = process.argv.slice(2);

/**
 * Native libraries may be loaded by one thread of a process only. CartoCSS is plain JavaScript: it gets a thread
 * of its own, which can be ended without touching renders that run beside it.
 */
const threads: Record<string, Record<string, string>> = {
  render: { default: "render/worker.js", compile: "render/compile-worker.js" },
  transfer: { default: "transfer/worker.js" },
  image: { default: "image/worker.js", print: "image/print/worker.js" },
};
const files = threads[worker];
if (!files) throw new Error(`There is no worker "${worker}".`);

const pools = new Map(
  Object.entries(files).map(([kind, file]) => [
    kind,
    new Piscina({
      filename: fileURLToPath(new URL(file, import.meta.url)),
      // Printing is rare: its thread starts with the first document.
      minThreads: kind === "print" ? 0 : 1,
      maxThreads: 1,
      concurrentTasksPerWorker: kind === "default" ? Number(concurrency) : 1,
      // With 'sync' a worker's event loop stands still between tasks and asynchronous renders never finish.
      atomics: "disabled",
      idleTimeout: Number.POSITIVE_INFINITY,
      ...(kind === "compile" ? { resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 } } : {}),
    }),
  ]),
);

async function run(task: TaskMessage): Promise<unknown> {
  const own = pools.get(task.kind);
  if (!own) return pools.get("default")!.run({ kind: task.kind, request: task.request });
  if (task.kind !== "compile") return own.run(task.request);
  const { deadlineMs } = task.request as { deadlineMs: number };
  // A thread that has just taken another's place loads for a while, which is not the style's fault.
  await own.run(null);
  try {
    return await own.run(task.request, { signal: AbortSignal.timeout(deadlineMs) });
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

// When the front has gone meanwhile, the channel is closed and nobody is there to be told.
const sendToParent = (message: unknown) => process.send?.(message, undefined, undefined, () => undefined);

process.on("message", (task: TaskMessage) => {
  run(task).then(
    (response) => sendToParent({ id: task.id, ok: true, response }),
    (error: Error) => sendToParent({ id: task.id, ok: false, error: error.message }),
  );
});
// The front is gone: nobody waits for answers. It also decides when this process ends on a signal to the group.
process.on("disconnect", () => process.exit(0));
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => process.exit(0));

await pools.get("default")!.run({ kind: "ping", request: null });
sendToParent("ready");
