import t from "tap";
import { WorkerThreads } from "../../src/hosts/threads.js";
import { quietLog } from "../support/log.js";

/** Worker threads that need more than they may have. */

t.test("a thread that runs out of memory is replaced, and the process goes on", async (t) => {
  const threads = new WorkerThreads({
    ...{ name: "bodies", worker: "body", threads: 1, memoryBytes: 64 * 1024 ** 2, deadlineMs: 60_000 },
    ...{ queueLength: 4, maxWaitMs: 60_000, log: quietLog },
  });
  t.teardown(() => threads.stop());
  const rules = { srid: 4326, languages: { own: "en", main: "en" }, id: undefined, layer: { columns: [] } };
  // Without a limit of its own, so that nothing refuses it before it is parsed.
  const limits = { members: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };
  const read = (text: string) => {
    const parts = [new Uint8Array(Buffer.from(text))];
    const moved = parts.map(({ buffer }) => buffer as ArrayBuffer);
    const task = { kind: "object", parts, limits, rules };
    return threads.run(task, { client: "a", signal: new AbortController().signal, moved });
  };
  const group = `[${Array(100).fill("[1]").join(",")}]`;
  const large = `{"fields":{"a":[${Array(30_000).fill(group).join(",")}]}}`;
  await t.rejects(read(large), { name: "HostError", reason: "died" });
  t.match(threads.counts(), { running: 0, waiting: 0, done: 0, replaced: 1 });
  await read('{"fields":{}}');
  t.match(threads.counts(), { running: 0, done: 1, replaced: 1 }, "the next one is read");
});
