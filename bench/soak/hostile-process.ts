import { setMaxListeners } from "node:events";
import { setPriority } from "node:os";
import { answerParent } from "../child.js";
import { type Attack, pause, type Victim } from "./attacks/attack.js";
import { attacks } from "./attacks/attacks.js";
import { Random } from "./random.js";

/**
 * The hostile clients, in a process of their own: what they compute holds nobody else's event loop. Real ones have machines of
 * their own, so these take only the CPU time that the server leaves.
 */

export interface HostileOptions {
  readonly urls: readonly string[];
  readonly victim: Victim;
  readonly seed: number;
  /** Kinds of attacks; empty = all. */
  readonly only: readonly string[];
  /** Whether attacks pause, so that others are beside them each time. */
  readonly pauses: boolean;
}

export type HostileRequest = ({ readonly ask: "start" } & HostileOptions) | { readonly ask: "stop" };

/** What was done since the start. */
export type HostileAnswer = readonly Burst[];

/** An attack, from a time to another (`Date.now()`). */
export interface Burst {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** So many are told. */
const mostBursts = 100_000;

/** Of an attack and of the pause after it. */
const longestMs = 4_000;
const shortestMs = 1_000;

const niceness = 19;

let ending = new AbortController();
let bursts: Burst[] = [];
let ended: Promise<void>[] = [];

async function attackInTurns(
  { name, clients, run }: Attack,
  index: number,
  { urls, victim, pauses, seed }: HostileOptions,
): Promise<void> {
  const random = new Random(seed * 7_919 + index);
  const { signal: over } = ending;
  const length = () => random.whole(shortestMs, longestMs);
  while (!over.aborted) {
    if (pauses) await pause(over, length());
    const url = random.one(urls);
    // A burst has one address, so that it is one client.
    const address = `203.0.113.${random.whole(1, 250)}`;
    const signal = AbortSignal.any(pauses ? [over, AbortSignal.timeout(length())] : [over]);
    // Each connection listens.
    setMaxListeners(0, signal);
    const from = Date.now();
    await Promise.all(
      Array.from({ length: clients }, () =>
        run({ url, signal, address, victim, random: new Random(random.whole(0, 1e9)) }),
      ),
    );
    if (bursts.length < mostBursts) bursts.push({ name, from, to: Date.now() });
  }
}

answerParent<HostileRequest, HostileAnswer>(async (request) => {
  switch (request.ask) {
    case "start": {
      setPriority(niceness);
      ending = new AbortController();
      // Each attack listens.
      setMaxListeners(0, ending.signal);
      bursts = [];
      const chosen = attacks.filter(({ name }) => request.only.length === 0 || request.only.includes(name));
      ended = chosen.map((attack, index) => attackInTurns(attack, index, request));
      return [];
    }
    case "stop":
      ending.abort();
      await Promise.all(ended);
      return bursts;
  }
});
