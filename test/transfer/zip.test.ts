import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { zipped } from "../../src/export/zip.js";

/** Archives whose source breaks, or that nobody reads. */

async function* breaking(): AsyncGenerator<string, void> {
  yield "begun";
  throw new Error("It broke.");
}

t.test("a source that breaks before anybody reads is an error of the reading", async (t) => {
  const archive = zipped([{ name: "a.txt", chunks: breaking() }]);
  await sleep(20);
  await t.rejects(
    async () => {
      for await (const _ of archive);
    },
    { message: "It broke." },
  );
});

t.test("an archive that nobody reads stops its source", async (t) => {
  let stopped = false;
  const source: AsyncIterableIterator<string> = {
    [Symbol.asyncIterator]: () => source,
    next: async () => ({ done: false, value: "more" }),
    return: async () => {
      stopped = true;
      return { done: true, value: undefined };
    },
  };
  await zipped([{ name: "a.txt", chunks: source }]).return?.();
  await sleep(20);
  t.ok(stopped);
});
