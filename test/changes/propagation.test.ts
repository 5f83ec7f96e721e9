import t from "tap";
import { Propagation } from "../../src/changes/propagation.js";
import { systemClock } from "../../src/clock.js";

/** Waiting until others have heard of a transaction. */

const nothing = async () => undefined;

t.test("a number that is given out again stands for the transaction that has it now", async (t) => {
  const propagation = new Propagation({
    clock: systemClock,
    sendMark: nothing,
    drop: nothing,
    expired: nothing,
    changesMissed: nothing,
    ownMarkMissed: () => undefined,
  });
  const others = [{ id: "other", connected: true }];
  const hear = () => {
    propagation.receivedOwn("4711");
    propagation.acknowledged("other", ["4711"]);
  };
  propagation.connected(others);
  // Its client was gone before it could ask about it.
  hear();
  propagation.disconnected();
  propagation.connected(others);
  let known = false;
  const waited = propagation.propagate("4711").then(() => {
    known = true;
  });
  await systemClock.turn();
  t.notOk(known, "the other node has heard of an earlier one only");
  hear();
  await waited;
  t.ok(known);
});
