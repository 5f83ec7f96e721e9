import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { Queryable } from "../storage/postgres.js";
import type { PurgeService } from "./purge-service.js";

/**
 * The instances of the edge, told side by side. Nobody waits for one that does not answer: it falls behind, which the database
 * notes, and is told what it has missed as soon as it answers again.
 */

export interface InstancesOptions {
  readonly db: Pick<Queryable, "query">;
  readonly services: ReadonlyMap<string, PurgeService>;
  /** The key of all that they may keep. */
  readonly everything: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what goes on in the background. */
  readonly signal: AbortSignal;
}

type How = "purge" | "forget";

/** What an instance has to drop. */
interface Missed {
  readonly how: How;
  readonly keys: ReadonlySet<string>;
}

/** How long an instance may take beyond the first that has dropped the same. */
const lateMs = 1_000;
/** Between two attempts to tell one that is behind. */
const retryMs = 1_000;

export class Instances {
  /** Those that are behind, and what they have missed while they are not being told of it. */
  private readonly behind = new Map<string, Missed | undefined>();

  private constructor(private readonly options: InstancesOptions) {}

  /** Keys that all of them take in one batch now. */
  get mostKeys(): number {
    return Math.min(...[...this.options.services.values()].map(({ mostKeys }) => mostKeys));
  }

  /** Instances that were behind when another node told them may have missed anything. */
  static async open(options: InstancesOptions): Promise<Instances> {
    const { db, services, everything } = options;
    const instances = new Instances(options);
    await db.query("delete from edge_behind where instance <> all($1::text[])", [[...services.keys()]]);
    const known = await db.query<{ instance: string }>("select instance from edge_behind");
    for (const { instance } of known) {
      instances.behind.set(instance, { how: "forget", keys: new Set([everything]) });
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
    let cancel: (() => void) | undefined;
    const results = await Promise.allSettled(
      current.map(async ([, service]) => {
        await service[how](keys, AbortSignal.any([signal, late.signal]));
        cancel ??= clock.after(lateMs, () => late.abort(new Error("It takes longer than another one.")));
      }),
    );
    cancel?.();
    signal.throwIfAborted();
    const failures = results.map((result) => (result.status === "rejected" ? result : undefined));
    if (failures.every(Boolean)) throw failures[0]!.reason;
    for (const [index, failure] of failures.entries())
      if (failure) await this.fallBehind(current[index]![0], { how, keys }, failure.reason);
  }

  private async fallBehind(
    name: string,
    missed: { readonly how: How; readonly keys: readonly string[] },
    error: unknown,
  ): Promise<void> {
    const { db, log } = this.options;
    log.warn(
      { err: error, instance: name },
      "an instance of the edge was not told of changes, the others were",
    );
    this.behind.set(name, this.both(undefined, missed));
    // Before it is noted that the edge was told.
    await db.query("insert into edge_behind (instance) values ($1) on conflict do nothing", [name]);
    void this.catchUp(name);
  }

  /** Tells it what it has missed, until it has dropped all. Never rejects. */
  private async catchUp(name: string): Promise<void> {
    const { services, db, clock, log, signal } = this.options;
    const service = services.get(name)!;
    while (!signal.aborted) {
      const missed = this.behind.get(name);
      if (!missed) {
        this.behind.delete(name);
        log.info({ instance: name }, "an instance of the edge has caught up");
        // If this fails, the node that leads next tells it everything.
        await db.query("delete from edge_behind where instance = $1", [name]).catch(() => undefined);
        return;
      }
      this.behind.set(name, undefined);
      try {
        await service[missed.how]([...missed.keys], signal);
      } catch {
        this.behind.set(name, this.both(this.behind.get(name), missed));
        await new Promise<void>((resolve) => {
          clock.after(retryMs, resolve);
        });
      }
    }
  }

  /** Too much is everything. */
  private both(
    one: Missed | undefined,
    other: { readonly how: How; readonly keys: Iterable<string> },
  ): Missed {
    const how = one?.how === "forget" ? "forget" : other.how;
    const keys = new Set([...(one?.keys ?? []), ...other.keys]);
    return { how, keys: keys.size > this.mostKeys ? new Set([this.options.everything]) : keys };
  }
}
