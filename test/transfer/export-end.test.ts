import { setImmediate } from "node:timers/promises";
import t from "tap";
import { finished } from "../../src/export/export-layer.js";

async function* chunks() {
  yield "a";
}

t.test("files that cannot be removed after an abort do not end the process", async (t) => {
  const errors: unknown[] = [];
  const note = (error: unknown) => errors.push(error);
  process.on("uncaughtException", note);
  const controller = new AbortController();
  const removing = async () => {
    throw new Error("the disk fails");
  };
  const content = finished(chunks(), removing, controller.signal)[Symbol.asyncIterator]();
  t.match(await content.next(), { value: "a" });
  controller.abort();
  await setImmediate();
  process.off("uncaughtException", note);
  t.same(errors, []);
});

t.test(
  "a file that was read to its end is whole, whether what it was made of can be removed or not",
  async (t) => {
    let tries = 0;
    const removing = async () => {
      tries++;
      throw new Error("the disk fails");
    };
    const content = finished(chunks(), removing, new AbortController().signal)[Symbol.asyncIterator]();
    t.match(await content.next(), { value: "a" });
    t.match(await content.next(), { done: true });
    t.match(await content.return!(), { done: true });
    t.equal(tries, 1);
  },
);

t.test("what a file was made of goes, also when its reading cannot be ended properly", async (t) => {
  async function* reading() {
    try {
      yield "a";
    } finally {
      await Promise.reject(new Error("the connection is lost"));
    }
  }
  let removed = 0;
  const removing = async () => void removed++;
  const content = finished(reading(), removing, new AbortController().signal)[Symbol.asyncIterator]();
  t.match(await content.next(), { value: "a" });
  await t.rejects(content.return!(), { message: "the connection is lost" });
  t.equal(removed, 1);
});
