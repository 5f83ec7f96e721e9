import type { Redis } from "../../src/storage/redis.js";
import { Link, silentMs } from "./links.js";
import type { Owner, Scheduler } from "./scheduler.js";

/** A simulated Redis: values, locks and subscriptions. It can be unavailable, emptied and slow. */

type Value = string | Buffer;

interface Subscription {
  readonly channel: string;
  readonly owner: Owner;
  readonly link: Link;
  readonly receive: (channel: string, text: string) => void;
  /** When the last message arrives: messages arrive in order. */
  arrivesAt: number;
}

/** A class, since each object literal with a getter gets its own hidden class in V8, which keeps its world in memory. */
class Status {
  constructor(
    private readonly isAway: () => boolean,
    private readonly serverOf: () => number,
  ) {}

  get status(): string {
    return this.isAway() ? "reconnecting" : "ready";
  }

  get incarnation(): string {
    return String(this.serverOf());
  }
}

export class SimulatedRedis {
  private values = new Map<string, { readonly value: Value; readonly until: number }>();
  private subscriptions = new Set<Subscription>();
  awayUntil = 0;
  slowUntil = 0;

  /** Number of the server that is the primary. */
  private server = 1;
  private replica: SimulatedRedis["values"] | undefined;

  constructor(private readonly scheduler: Scheduler) {}

  /** What a replica has got so far. */
  replicate(): void {
    this.replica = new Map(this.values);
  }

  /** The replica takes the primary's place, without what it has not got. */
  failOver(): void {
    this.values = this.replica ?? new Map();
    this.server++;
    this.leave(this.scheduler.now + 20);
  }

  /** Deletes all values. */
  flush(): void {
    this.values.clear();
  }

  forget(owner: Owner): void {
    for (const one of [...this.subscriptions]) if (one.owner === owner) this.subscriptions.delete(one);
  }

  /** The part of a client that the tile path uses. */
  client(owner: Owner, link = new Link()): Redis {
    const { scheduler } = this;
    const isAway = () => scheduler.now < Math.max(this.awayUntil, link.cutUntil);
    link.onCut = (until) => {
      for (const one of this.subscriptions) if (one.owner === owner) this.interrupt(one, until);
    };
    const command = <T>(work: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (isAway()) return reject(new Error("Redis is away"));
        const { server } = this;
        const fail = (ms: number) =>
          void scheduler.after(ms, () => reject(new Error("Redis is away")), owner);
        scheduler.after(
          this.latency(),
          () => {
            if (isAway() || this.server !== server) return fail(0);
            if (scheduler.now < link.lostToUntil) return fail(silentMs.redis);
            const result = work();
            if (scheduler.now < link.lostFromUntil) return fail(silentMs.redis);
            scheduler.after(this.latency(), () => resolve(result), owner);
          },
          undefined,
        );
      });
    const set = (key: string, value: Value, options: readonly unknown[]): "OK" | null => {
      const [unit, time] = options;
      if (options.includes("NX") && this.read(key) !== null) return null;
      const ms =
        unit === "PX" ? Number(time) : unit === "EX" ? 1_000 * Number(time) : Number.POSITIVE_INFINITY;
      this.values.set(key, { value, until: scheduler.now + ms });
      return "OK";
    };
    let receive: Subscription["receive"] = () => undefined;
    const client = Object.assign(new Status(isAway, () => this.server), {
      get: (key: string) => command(() => this.read(key)?.toString() ?? null),
      set: (key: string, value: Value, ...options: unknown[]) => command(() => set(key, value, options)),
      del: (key: string) => command(() => Number(this.values.delete(key))),
      incr: (key: string) =>
        command(() => {
          const value = Number(this.read(key) ?? 0) + 1;
          set(key, String(value), []);
          return value;
        }),
      mgetBuffer: (keys: string[]) => command(() => keys.map((key) => this.read(key))),
      eval: (_script: string, _keys: number, key: string, owner: string) =>
        command(() => {
          if (this.read(key) === owner) this.values.delete(key);
        }),
      pipeline: () => {
        const commands: (() => void)[] = [];
        const pipeline = {
          set: (key: string, value: Value, ...options: unknown[]) => {
            commands.push(() => void set(key, value, options));
            return pipeline;
          },
          exec: () =>
            command(() => {
              for (const run of commands) run();
            }),
        };
        return pipeline;
      },
      publish: (channel: string, text: string) =>
        command(() => {
          let receivers = 0;
          for (const one of this.subscriptions) {
            if (one.channel !== channel) continue;
            receivers++;
            one.arrivesAt = Math.max(one.arrivesAt, scheduler.now + this.latency(), one.link.lostFromUntil);
            scheduler.after(one.arrivesAt - scheduler.now, () => one.receive(channel, text), one.owner, one);
          }
          return receivers;
        }),
      listener: () => this.client(owner, link),
      connect: async () => {
        if (isAway()) throw new Error("Redis is away");
      },
      on: (event: string, listener: Subscription["receive"]) => {
        if (event === "message") receive = listener;
      },
      subscribe: (channel: string) =>
        new Promise<void>((resolve) => {
          const subscription = {
            ...{ channel, owner, link },
            arrivesAt: 0,
            receive: (name: string, text: string) => receive(name, text),
          };
          const attempt = () => {
            if (isAway()) {
              const until = Math.max(this.awayUntil, link.cutUntil);
              return void scheduler.after(until - scheduler.now + 50, attempt, owner);
            }
            this.subscriptions.add(subscription);
            scheduler.after(this.latency(), resolve, owner);
          };
          scheduler.after(this.latency(), attempt, owner);
        }),
      disconnect: () => undefined,
    });
    return client as unknown as Redis;
  }

  /** Makes Redis unavailable. Subscriptions are lost, and renewed when it is back. */
  leave(until: number): void {
    this.awayUntil = until;
    for (const subscription of [...this.subscriptions]) this.interrupt(subscription, until);
  }

  private interrupt(subscription: Subscription, until: number): void {
    this.subscriptions.delete(subscription);
    this.scheduler.after(
      until - this.scheduler.now + 50,
      () => this.subscriptions.add(subscription),
      subscription.owner,
    );
  }

  private read(key: string): Value | null {
    const found = this.values.get(key);
    if (!found) return null;
    if (found.until > this.scheduler.now) return found.value;
    this.values.delete(key);
    return null;
  }

  private latency(): number {
    const { scheduler } = this;
    return scheduler.latency() + (scheduler.now < this.slowUntil ? scheduler.random.below(1_500) : 0);
  }
}
