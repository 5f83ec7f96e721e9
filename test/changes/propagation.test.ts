import t from "tap";
import { Propagation } from "../../src/changes/propagation.js";
import { type Clock, systemClock } from "../../src/clock.js";

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

t.test("a write is not answered as done while a node can be neither told nor warned", async (t) => {
  let now = 0;
  const timers = new Map<() => void, number>();
  const clock: Clock = {
    now: () => now,
    wall: () => now,
    turn: () => Promise.resolve(),
    after: (ms, work) => {
      timers.set(work, now + ms);
      return () => void timers.delete(work);
    },
  };
  const runUntil = async (end: number) => {
    for (; now <= end; now += 50) {
      for (const [work, at] of [...timers]) if (at <= now && timers.delete(work)) work();
      await new Promise(setImmediate);
    }
  };
  const dropped: string[] = [];
  const expired: string[] = [];
  const again: string[] = [];
  let isAway = true;
  const propagation = new Propagation({
    clock,
    sendMark: async (receipt, isAgain) => {
      if (isAgain) again.push(receipt);
      propagation.receivedOwn(receipt);
    },
    drop: async (node) => {
      dropped.push(node);
      propagation.dropped(node);
    },
    expired: async (node) => void expired.push(node),
    changesMissed: async () => {
      if (isAway) throw new Error("Redis is away");
    },
    ownMarkMissed: () => undefined,
  });
  propagation.connected([{ id: "other", connected: true }]);
  const outcomes: string[] = [];
  const write = () =>
    void propagation.propagate().then(
      () => outcomes.push("done"),
      ({ code }: { readonly code?: string }) => outcomes.push(code ?? "?"),
    );
  write();
  await runUntil(400);
  t.same([again.length, dropped], [1, []], "the node is asked again before it is given up");
  await runUntil(9_000);
  t.same([outcomes, dropped, expired], [[], ["other"], []]);
  await runUntil(11_500);
  t.same(outcomes, ["outcome_unknown"]);
  write();
  await runUntil(14_500);
  t.same([outcomes.length, expired], [1, []], "later writes wait for the node, too");
  isAway = false;
  await runUntil(16_000);
  t.same([outcomes, expired], [["outcome_unknown", "done"], ["other"]]);
});
