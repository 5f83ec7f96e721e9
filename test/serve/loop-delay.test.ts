import t from "tap";
import { LoopDelay } from "../../src/loop-delay.js";

/** Event loops that are late. */

const passed = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const sleep = (milliseconds: number) =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

t.test("what the thread waited for a core is a delay and not held", async (t) => {
  let waitedMs = 0;
  const loop = new LoopDelay(() => waitedMs);
  await passed(50);
  loop.reset();
  sleep(400);
  await passed(50);
  t.ok(loop.held >= 0.3 && loop.max >= 0.3, `held ${loop.held}, late ${loop.max}`);
  loop.reset();
  t.equal(loop.held, 0);
  sleep(400);
  // As the kernel counts it.
  waitedMs += 400;
  await passed(50);
  t.ok(loop.max >= 0.3 && loop.held <= loop.max - 0.3, `held ${loop.held}, late ${loop.max}`);
});
