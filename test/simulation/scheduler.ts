import type { Clock } from "../../src/clock.js";
import { randomNumbers } from "../support/random.js";

/**
 * Discrete event simulation: all input is an event at a simulated time that a seed decides. Nothing depends on the real
 * clock, so the same seed gives the same run.
 */

/** Random numbers of one step, which stay the same when other steps are left out. */
export class Random {
  private readonly next: () => number;

  constructor(...seeds: readonly number[]) {
    let mixed = 0x9e3779b9;
    for (const seed of seeds) mixed = Math.imul(mixed ^ seed, 0x85ebca6b) + 0x27d4eb2f;
    this.next = randomNumbers(mixed | 0);
  }

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return this.next() % limit;
  }

  chance(probability: number): boolean {
    return this.next() < probability * 0x1_0000_0000;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

/** A process that can be suspended or killed. */
export interface Owner {
  pausedUntil: number;
  gone: boolean;
  /** How long its monotonic clock has stood still, while its machine was suspended. */
  stoodStillMs?: number;
}

interface Event {
  at: number;
  readonly number: number;
  readonly owner: Owner | undefined;
  readonly random: Random;
  readonly run: () => void;
  /** Events of one lane (such as a connection) stay in order, even while their process is suspended. */
  readonly lane: object | undefined;
  cancelled: boolean;
}

/** When a process resumes, the lanes with pending events are served in random order within this time. */
export const laneMs = 3;

/** Runs all microtasks of Node. There is no public API to do so within a turn of the event loop. */
const drain = (process as unknown as { _tickCallback(): void })._tickCallback;

export class Scheduler {
  now = 0;
  /** Events that ran. */
  count = 0;
  /** Random numbers of the current event. */
  random: Random;
  /** Process of the current event. */
  owner: Owner | undefined;
  private readonly heap: Event[] = [];
  private numbers = 0;
  /** When lanes of suspended processes are served again. */
  private readonly opens = new WeakMap<object, number>();

  /** @param calm all latencies are short */
  constructor(
    seed: number,
    private readonly calm: boolean,
  ) {
    this.random = new Random(seed);
  }

  /** A random network latency in milliseconds: usually short, sometimes long. */
  latency(): number {
    const { random } = this;
    const kind = random.below(16);
    if (this.calm || kind < 10) return (1 + random.below(20)) / 10;
    if (kind < 15) return 1 + random.below(20);
    return random.chance(0.2) ? 200 + random.below(900) : 10 + random.below(200);
  }

  /** Runs `run` after `ms` milliseconds; the default for `owner` is the current process. */
  after(ms: number, run: () => void, owner: Owner | undefined = this.owner, lane?: object): () => void {
    return this.on(ms, run, owner, this.random, lane);
  }

  on(ms: number, run: () => void, owner: Owner | undefined, random: Random, lane?: object): () => void {
    const event: Event = {
      at: this.now + ms,
      number: ++this.numbers,
      owner,
      random,
      run,
      lane,
      cancelled: false,
    };
    this.push(event);
    return () => {
      event.cancelled = true;
    };
  }

  /** Runs all events up to the time `until`, in milliseconds. */
  run(until: number): void {
    for (;;) {
      const event = this.heap[0];
      if (!event || event.at > until) break;
      this.pop();
      const { owner } = event;
      if (event.cancelled || owner?.gone) continue;
      const at = this.timeOf(event);
      if (at > event.at) {
        event.at = at;
        this.push(event);
        continue;
      }
      this.now = event.at;
      this.random = event.random;
      this.owner = owner;
      this.count++;
      event.run();
      drain();
    }
    this.now = Math.max(this.now, until);
  }

  /** Earliest time of an event: not while its process is suspended, and then in the order of its lane. */
  private timeOf({ at, owner, lane }: Event): number {
    if (!owner || owner.pausedUntil === 0) return at;
    const isPaused = owner.pausedUntil > at;
    if (!lane) return isPaused ? owner.pausedUntil : at;
    if (isPaused && (this.opens.get(lane) ?? 0) < owner.pausedUntil)
      this.opens.set(lane, owner.pausedUntil + this.random.below(10 * laneMs) / 10);
    // Later events of the same lane have to wait too.
    return Math.max(at, this.opens.get(lane) ?? 0);
  }

  /** The clock of a process. */
  clock(owner: Owner): Clock {
    return new ProcessClock(this, owner);
  }

  private push(event: Event): void {
    const { heap } = this;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

class ProcessClock implements Clock {
  constructor(
    private readonly scheduler: Scheduler,
    private readonly owner: Owner,
  ) {}

  now(): number {
    return this.scheduler.now - (this.owner.stoodStillMs ?? 0);
  }

  wall(): number {
    return this.scheduler.now;
  }

  after(ms: number, work: () => void): () => void {
    return this.scheduler.after(ms, work, this.owner);
  }

  turn(): Promise<void> {
    return new Promise((resolve) => void this.scheduler.after(0.01, resolve, this.owner));
  }
}

const before = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.number < other.number);
