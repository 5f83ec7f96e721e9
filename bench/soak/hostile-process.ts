import { setMaxListeners } from "node:events";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { answerParent } from "../child.js";
import type { Attack, Victim } from "./attacks/attack.js";
import { attacks } from "./attacks/attacks.js";
import { Random } from "./random.js";

/**
 * The hostile clients, in a process of their own: what they compute holds nobody else's event loop. Real ones have machines of
 * their own, so these take only the CPU time that the server leaves.
 */

export type HostileRequest =
  | {
      readonly ask: "start";
      readonly urls: readonly string[];
      readonly victim: Victim;
      readonly seed: number;
      /** Kinds of attacks; empty = all. */
      readonly only: readonly string[];
      /** Whether attacks pause, so that others are beside them each time. */
      readonly pauses: boolean;
    }
  /** Which attacks went on since this was asked last. */
  | { readonly ask: "active" }
  | { readonly ask: "stop" };

/** Names of attacks. */
export type HostileAnswer = readonly string[];

/** Of an attack and of the pause after it. */
const longestMs = 4_000;
const shortestMs = 1_000;

const niceness = 19;

const ending = new AbortController();
const running = new Map<string, number>();
const active = new Set<string>();
const ended: Promise<void>[] = [];

async function attackInTurns(
  { name, clients, run }: Attack,
  index: number,
  request: Extract<HostileRequest, { ask: "start" }>,
): Promise<void> {
  const { urls, victim, pauses, seed } = request;
  const random = new Random(seed * 7_919 + index);
  while (!ending.signal.aborted) {
    if (pauses)
      await sleep(random.whole(shortestMs, longestMs), undefined, { signal: ending.signal }).catch(
        () => undefined,
      );
    const url = random.one(urls);
    // A burst has one address, so that it is one client.
    const address = `203.0.113.${random.whole(1, 250)}`;
    const signal = pauses
      ? AbortSignal.any([ending.signal, AbortSignal.timeout(random.whole(shortestMs, longestMs))])
      : ending.signal;
    // Each connection listens.
    setMaxListeners(0, signal);
    running.set(name, (running.get(name) ?? 0) + 1);
    active.add(name);
    await Promise.all(
      Array.from({ length: clients }, (_, client) =>
        run({ url, signal, address, victim, random: new Random(random.whole(0, 1e9) + client) }),
      ),
    );
    running.set(name, running.get(name)! - 1);
  }
}

answerParent<HostileRequest, HostileAnswer>(async (request) => {
  switch (request.ask) {
    case "start": {
      setPriority(niceness);
      const chosen = attacks.filter(({ name }) => request.only.length === 0 || request.only.includes(name));
      ended.push(...chosen.map((attack, index) => attackInTurns(attack, index, request)));
      return chosen.map(({ name }) => name);
    }
    case "active": {
      const names = [...active];
      active.clear();
      for (const [name, count] of running) if (count > 0) active.add(name);
      return names;
    }
    case "stop":
      ending.abort();
      await Promise.all(ended);
      return [];
  }
});
