import type { Clock } from "../clock.js";
import { eitherSignal } from "../either-signal.js";
import type { Log } from "../log.js";
import type { Queryable } from "../storage/postgres.js";
import type { PurgeService } from "./purge-service.js";

/**
 * The instances of the CDN, told side by side. Nobody waits for one that does not answer: it falls behind, which the database
 * notes, and is told what it has missed as soon as it answers again.
 */

export interface InstancesOptions {
  readonly db: Pick<Queryable, "query">;
  readonly services: ReadonlyMap<string, PurgeService>;
  /** Keys of all that they may keep. */
  readonly everything: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what goes on in the background. */
  readonly signal: AbortSignal;
}

type How = "purge" | "forget";

/** What an instance has to drop. */
interface Missed {
  readonly how: How;
  /** Undefined = everything. */
  readonly keys: ReadonlySet<string> | undefined;
}

/** How long an instance may take beyond the first that has dropped the same. */
const lateMs = 1_000;
/** Between two attempts to tell one that is behind. */
const retryMs = 1_000;

export class Instances {
  /** Those that are behind, and what they have missed while they are not being told of it. */
  private readonly behind = new Map<string, Missed | undefined>();
  /** Those of them that the database does not know of yet. */
  private readonly unnoted = new Set<string>();

  private constructor(private readonly options: InstancesOptions) {}

  /** Whether none is behind. */
  get areCurrent(): boolean {
    return this.behind.size === 0;
  }

  /** Keys that all of them take in one batch now. */
  get mostKeys(): number {
    return Math.min(...[...this.options.services.values()].map(({ mostKeys }) => mostKeys));
  }

  /** Instances that were behind when another node told them may have missed anything. */
  static async open(options: InstancesOptions): Promise<Instances> {
    const { db, services } = options;
    const instances = new Instances(options);
    await db.query("delete from edge_behind where instance <> all($1::text[])", [[...services.keys()]]);
    const known = await db.query<{ instance: string }>("select instance from edge_behind");
    for (const { instance } of known) {
      instances.behind.set(instance, { how: "forget", keys: undefined });
      void instances.catchUp(instance);
    }
    return instances;
  }

  /** Resolves when those that are not behind then have dropped it. @throws Error when none has */
  async drop(how: How, keys: readonly string[]): Promise<void> {
    const { services, signal, clock } = this.options;
    const current = [...services].filter(([name]) => !this.behind.has(name));
    for (const [name, missed] of this.behind) this.behind.set(name, this.both(missed, { how, keys }));
    if (current.length === 0) throw new Error("No instance of the edge answers.");
    const late = new AbortController();
    const ended = eitherSignal([signal, late.signal]);
    let cancel: (() => void) | undefined;
    const results = await Promise.allSettled(
      current.map(async ([, service]) => {
        await service[how](keys, ended.signal);
        cancel ??= clock.after(lateMs, () => late.abort(new Error("It takes longer than another one.")));
      }),
    );
    cancel?.();
    ended.release();
    signal.throwIfAborted();
    const failures = results.map((result) => (result.status === "rejected" ? result : undefined));
    if (failures.every(Boolean)) throw failures[0]!.reason;
    for (const [index, failure] of failures.entries())
      if (failure) this.fallBehind(current[index]![0], { how, keys }, failure.reason);
    // Before it is noted that the CDN was told.
    for (const name of this.unnoted) {
      await this.options.db.query("insert into edge_behind (instance) values ($1) on conflict do nothing", [
        name,
      ]);
      this.unnoted.delete(name);
    }
  }

  /** Says to those that are not behind that they have been told of all. Nobody waits for them. */
  confirm(): void {
    const { services, signal } = this.options;
    for (const [name, service] of services)
      if (!this.behind.has(name)) service.confirm?.(signal).catch(() => undefined);
  }

  private fallBehind(
    name: string,
    missed: { readonly how: How; readonly keys: readonly string[] },
    error: unknown,
  ): void {
    this.options.log.warn(
      { err: error, instance: name },
      "an instance of the edge was not told of changes, the others were",
    );
    this.behind.set(name, this.both(undefined, missed));
    this.unnoted.add(name);
    void this.catchUp(name);
  }

  /** Tells it what it has missed, until it has dropped all. Never rejects. */
  private async catchUp(name: string): Promise<void> {
    const { services, everything, log, signal } = this.options;
    const service = services.get(name)!;
    while (!signal.aborted) {
      const missed = this.behind.get(name);
      if (!missed) {
        this.behind.delete(name);
        this.unnoted.delete(name);
        log.info({ instance: name }, "an instance of the edge has caught up");
        return this.noteCaughtUp(name);
      }
      this.behind.set(name, undefined);
      try {
        const keys = [...(missed.keys ?? (await everything()))];
        for (let at = 0; at < keys.length; at += service.mostKeys)
          await service[missed.how](keys.slice(at, at + service.mostKeys), signal);
      } catch {
        this.behind.set(name, this.both(this.behind.get(name), missed));
        await this.rest();
      }
    }
  }

  /** If it comes to nothing, the node that leads next tells the instance everything. */
  private async noteCaughtUp(name: string): Promise<void> {
    const { db, signal } = this.options;
    while (!signal.aborted && !this.behind.has(name)) {
      try {
        await db.query("delete from edge_behind where instance = $1", [name]);
        return;
      } catch {
        await this.rest();
      }
    }
  }

  private rest(): Promise<void> {
    return new Promise((resolve) => {
      this.options.clock.after(retryMs, resolve);
    });
  }

  /** Too much is everything. */
  private both(
    one: Missed | undefined,
    other: { readonly how: How; readonly keys: Iterable<string> | undefined },
  ): Missed {
    const how = one?.how === "forget" ? "forget" : other.how;
    if (!other.keys || (one && !one.keys)) return { how, keys: undefined };
    const keys = new Set([...(one?.keys ?? []), ...other.keys]);
    return { how, keys: keys.size > this.mostKeys ? undefined : keys };
  }
}
