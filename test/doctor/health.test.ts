import t from "tap";
import type { Check } from "../../src/doctor/check.js";
import { Health } from "../../src/doctor/health.js";

/** How often a running server is examined for those who look at what `doctor` finds. */

function made() {
  const begun: { finish: (checks: Check[]) => void; fail: (error: Error) => void }[] = [];
  const clock = { time: 0, now: () => clock.time };
  const examine = () =>
    new Promise<Check[]>((finish, fail) => {
      begun.push({ finish, fail });
    });
  return { health: new Health(examine, clock), begun, clock };
}

t.test("what hangs is not begun once more beside it", async (t) => {
  const { health, begun, clock } = made();
  const first = health.now();
  clock.time = 59_000;
  const second = health.now();
  t.equal(begun.length, 1);
  begun[0]!.finish([]);
  t.equal(await first, await second);
});

t.test("what was found is told for half a minute", async (t) => {
  const { health, begun, clock } = made();
  const first = health.now();
  clock.time = 50_000;
  begun[0]!.finish([]);
  await first;
  clock.time = 79_999;
  t.equal(await health.now(), await first);
  clock.time = 80_000;
  const later = health.now();
  t.equal(begun.length, 2);
  begun[1]!.finish([]);
  t.not(await later, await first);
});

t.test("after a failure the next one who asks has it examined again", async (t) => {
  const { health, begun } = made();
  const failed = health.now();
  begun[0]!.fail(new Error("broken"));
  await t.rejects(failed);
  const next = health.now();
  t.equal(begun.length, 2);
  begun[1]!.finish([]);
  await next;
});
