import t from "tap";
import { ToldMarks } from "../../src/cdn/told-marks.js";
import { Hours } from "../support/hours.js";

/** Edits wait for the CDN, never for long, and not at all while it is slow. */

t.test("an edit waits until its mark is told, in whichever order the two come", async (t) => {
  const marks = new ToldMarks(true, new Hours());
  marks.acknowledged("purged", ["1"]);
  t.equal(await marks.wait("1"), "purged", "told before it was asked for");
  const waits = [marks.wait("2"), marks.wait("2"), marks.wait("3")];
  marks.acknowledged("purged", ["2"]);
  marks.acknowledged("pending", ["3"]);
  t.same(await Promise.all(waits), ["purged", "purged", "pending"]);
  t.equal(await marks.wait(undefined), "pending", "of what was not heard nobody knows");
});

t.test("one edit waits for a CDN that does not answer, and then none until it is quick again", async (t) => {
  const clock = new Hours();
  const marks = new ToldMarks(true, clock);
  const first = marks.wait("1");
  await clock.pass(250);
  t.equal(await first, "pending");
  t.equal(await marks.wait("2"), "pending", "without waiting: no time has passed");
  await clock.pass(300);
  marks.acknowledged("purged", ["1", "2"]);
  t.equal(await marks.wait("3"), "pending", "it was told, but too late to wait for");
  await clock.pass(100);
  marks.acknowledged("purged", ["3"]);
  const later = marks.wait("4");
  await clock.pass(100);
  marks.acknowledged("purged", ["4"]);
  t.equal(await later, "purged");
  t.equal(clock.waiting, 0, "no timer is left");
});
