import { execFileSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import type { Progress } from "../../src/import/import-request.js";
import { collection, feature, importBench } from "../support/transfer.js";

/** Whose file is read next. */

const bench = await importBench();
t.teardown(() => bench.stop());
/** A file that never ends: nobody writes to it. */
const endless = join(bench.file(""), "..", "endless.geojson");
execFileSync("mkfifo", [endless]);
const short = bench.file(collection(feature({})));

t.test("within a project accounts take turns, however many files one of them sends", async (t) => {
  const read: number[] = [];
  const send = async (accountId: number, path: string, signal?: AbortSignal) => {
    const target = { layerId: await bench.layer(), projectId: 7, accountId, language: "en" };
    const source = { files: [{ path, name: path }], action: "merge" } as const;
    // Told when a file is read. Which of two that were read is written first is another matter.
    const onProgress = ({ phase }: Progress) => {
      if (phase === "checking") read.push(accountId);
    };
    await importIntoLayer(bench.deps, target, source, { onProgress, ...(signal && { signal }) });
  };
  const { counts } = bench.transfer;
  const waits = async (running: number, waiting: number) => {
    while (counts.call(bench.transfer).running < running || counts.call(bench.transfer).waiting < waiting)
      await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const ended = new AbortController();
  const held = t.rejects(send(1, endless, ended.signal), { message: "ended" });
  await waits(1, 0);
  const sent = [send(1, short)];
  await waits(1, 1);
  sent.push(send(1, short));
  await waits(1, 2);
  sent.push(send(2, short));
  await waits(1, 3);
  ended.abort(new Error("ended"));
  await held;
  await Promise.all(sent);
  t.equal(read.length, 3);
  t.equal(read[0], 2, `whoever had none is the next: ${read}`);
});

t.test("one account does not take all places of its project", (t) => {
  const { transfer } = bench;
  const taken: (() => void)[] = [];
  const take = (account: string, owner = "project 8") => taken.push(transfer.takeSlot(owner, account));
  for (let count = 0; count < 12; count++) take("1");
  t.throws(() => take("1"), /Too many imports/);
  for (let count = 0; count < 4; count++) take("2");
  t.throws(() => take("3"), /Too many imports/, "nor the project all of the node's");
  take("1", "project 9");
  for (const leave of taken.splice(0)) {
    leave();
    leave();
  }
  for (let count = 0; count < 12; count++) take("1");
  for (const leave of taken) leave();
  t.end();
});
