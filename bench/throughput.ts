import type { Figure } from "./rounds.js";

/** How much a side does in a round, by time and by CPU time. */

export interface Throughput {
  /** Requests, tiles, objects or keys a second of wall-clock time. */
  readonly perSecond: number;
  /** The same a second of CPU time of the processes that count. */
  readonly perCpuSecond: number;
}

/** What a piece of work did, and how long it took. */
export interface Done {
  readonly count: number;
  readonly seconds: number;
}

/** A tick of the clock by which CPU time is accounted for: less cannot be told from it. */
export const leastCpuSeconds = 0.01;

/** @param cpu CPU seconds so far of the processes that count */
export async function throughput(cpu: () => number, work: () => Promise<Done>): Promise<Throughput> {
  const before = cpu();
  const { count, seconds } = await work();
  return { perSecond: count / seconds, perCpuSecond: count / Math.max(leastCpuSeconds, cpu() - before) };
}

interface Gates {
  readonly perCpuSecond?: number;
  readonly perSecond?: number;
}

/**
 * Both figures, that of CPU time first.
 * @param of what is counted, in the plural
 */
export function throughputFigures(measure: string, of: string, gates: Gates = {}): Figure<Throughput>[] {
  const gate = (value: number | undefined) => (value === undefined ? {} : { gate: value });
  return [
    { measure, unit: `${of} / CPU s`, of: (done) => done.perCpuSecond, ...gate(gates.perCpuSecond) },
    { measure: "", unit: `${of} / s`, of: (done) => done.perSecond, ...gate(gates.perSecond) },
  ];
}
