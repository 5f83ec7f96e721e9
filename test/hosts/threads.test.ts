import t from "tap";
import { WorkerThreads } from "../../src/hosts/threads.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Worker threads: those that need more than they may have, and those without a task. */

const rules = { srid: 4326, languages: { own: "en", main: "en" }, id: undefined, layer: { columns: [] } };
// Without a limit of its own, so that nothing refuses it before it is parsed.
const limits = { members: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };
const read = (threads: WorkerThreads, text: string) => {
  const parts = [new Uint8Array(Buffer.from(text))];
  const moved = parts.map(({ buffer }) => buffer as ArrayBuffer);
  const task = { kind: "object", parts, limits, rules };
  return threads.run(task, { client: "a", signal: new AbortController().signal, moved });
};

t.test("a thread that runs out of memory is replaced, and the process goes on", async (t) => {
  const threads = new WorkerThreads({
    ...{ name: "bodies", worker: "body", threads: 1, memoryBytes: 64 * 1024 ** 2, deadlineMs: 60_000 },
    ...{ queueLength: 4, maxWaitMs: 60_000, log: quietLog },
  });
  t.teardown(() => threads.stop());
  const group = `[${Array(100).fill("[1]").join(",")}]`;
  const large = `{"fields":{"a":[${Array(30_000).fill(group).join(",")}]}}`;
  await t.rejects(read(threads, large), { name: "HostError", reason: "died" });
  t.match(threads.counts(), { running: 0, waiting: 0, done: 0, replaced: 1 });
  await read(threads, '{"fields":{}}');
  t.match(threads.counts(), { running: 0, done: 1, replaced: 1 }, "the next one is read");
});

t.test(
  "a thread without a task is ended, with the memory that it needed, and another is there for the next",
  async (t) => {
    const threads = new WorkerThreads({
      ...{ name: "bodies", worker: "body", threads: 2, memoryBytes: 64 * 1024 ** 2, deadlineMs: 60_000 },
      ...{ queueLength: 4, maxWaitMs: 60_000, idleMs: 100, log: quietLog },
    });
    t.teardown(() => threads.stop());
    for (const done of [1, 2]) {
      await read(threads, '{"fields":{}}');
      await waitFor(() => threads.counts().alive === 0);
      t.match(threads.counts(), { running: 0, waiting: 0, done, replaced: 0 });
    }
  },
);
