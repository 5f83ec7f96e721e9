import type { Clock } from "../../src/clock.js";
import { randomNumbers } from "../support/random.js";

/**
 * Simulated time: everything that would come from outside is an event with a moment of its own, and a seed decides over
 * all of these moments. Nothing here runs by the machine's clock, so the same seed is the same run.
 */

/** A stream of random numbers that belongs to one thing, so that leaving another out changes nothing in it. */
export class Random {
  private readonly next: () => number;

  constructor(...seeds: readonly number[]) {
    let mixed = 0x9e3779b9;
    for (const seed of seeds) mixed = Math.imul(mixed ^ seed, 0x85ebca6b) + 0x27d4eb2f;
    this.next = randomNumbers(mixed | 0);
  }

  /** A whole number from 0 to below. */
  below(limit: number): number {
    return this.next() % limit;
  }

  chance(share: number): boolean {
    return this.next() < share * 0x1_0000_0000;
  }

  pick<T>(things: readonly T[]): T {
    return things[this.below(things.length)]!;
  }
}

/** A process that can stand still, or be gone. */
export interface Owner {
  pausedUntil: number;
  gone: boolean;
}

interface Event {
  at: number;
  readonly number: number;
  readonly owner: Owner | undefined;
  readonly random: Random;
  readonly run: () => void;
  /** Things of one lane come in their order, also to a process that stood still. */
  readonly lane: object | undefined;
  cancelled: boolean;
}

/** What came over different ways to a process that stood still is looked at within so many milliseconds. */
export const laneMs = 3;

/** Runs what waits in Node's queue of microtasks, all of it, at once. (There is no public way to do so in the middle of a turn.) */
const drain = (process as unknown as { _tickCallback(): void })._tickCallback;

export class Scheduler {
  now = 0;
  /** Events that ran. */
  count = 0;
  /** Numbers for whatever is happening. */
  random: Random;
  /** The process that is running. */
  owner: Owner | undefined;
  private readonly heap: Event[] = [];
  private numbers = 0;
  /** When lanes to processes that stood still begin to be looked at. */
  private readonly opens = new WeakMap<object, number>();

  /** @param calm nothing takes long */
  constructor(
    seed: number,
    private readonly calm: boolean,
  ) {
    this.random = new Random(seed);
  }

  /** Milliseconds that something takes on its way: mostly few, now and then many. */
  latency(): number {
    const { random } = this;
    const kind = random.below(16);
    if (this.calm || kind < 10) return (1 + random.below(20)) / 10;
    if (kind < 15) return 1 + random.below(20);
    return random.chance(0.2) ? 200 + random.below(900) : 10 + random.below(200);
  }

  /** Runs `run` after so many milliseconds, in the process that asks for it unless told otherwise. */
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

  /** Runs events until `until`, in milliseconds, or until nothing is left. */
  run(until: number): void {
    for (;;) {
      const event = this.heap[0];
      if (!event || event.at > until) break;
      this.pop();
      const { owner } = event;
      if (event.cancelled || owner?.gone) continue;
      const begin = this.beginOf(event);
      if (begin > event.at) {
        event.at = begin;
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

  /** When an event can be at the earliest: what came over several ways to a process that stood still comes in any order. */
  private beginOf({ at, owner, lane }: Event): number {
    if (!owner || owner.pausedUntil === 0) return at;
    const isPaused = owner.pausedUntil > at;
    if (!lane) return isPaused ? owner.pausedUntil : at;
    if (isPaused && (this.opens.get(lane) ?? 0) < owner.pausedUntil)
      this.opens.set(lane, owner.pausedUntil + this.random.below(10 * laneMs) / 10);
    // What came later over the same way has to wait, too.
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
