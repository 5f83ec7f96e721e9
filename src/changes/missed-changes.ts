import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.js";
import { busy } from "../errors.js";
import type { Log } from "../log.js";
import { togetherPrefix } from "../storage/redis/together-prefix.js";
import type { Redis } from "../storage/redis.js";

/**
 * A random token in Redis. It is replaced whenever a change was committed whose notification some node may have missed.
 * A node that cannot query the database compares it with the token that it knew when it was last up to date: if they
 * differ, its caches may be stale.
 */

/** Where the client knows whether it has come to another server. */
const keyOf = (redis: Client, prefix: string): string => `${togetherPrefix(redis, prefix)}unheard`;
const newToken = (): string => randomBytes(12).toString("base64url");

type Client = Pick<Redis, "get" | "set" | "del" | "isCluster">;

/** Between two attempts to tell what could not be told. */
const retryMs = 500;
/** For how long a replica's word counts, and how long it is waited for. */
const confirmedForMs = 1_000;
const replicaMs = 100;
/** Times without a proof that are remembered, for requests that last longer than such a time. */
const mostSpells = 8;

/** @throws Error while Redis is unavailable */
export async function replaceToken(redis: Client, prefix: string): Promise<void> {
  // A Redis that is full takes no value, but lets go of one: a token that is missing is another one, too.
  const key = keyOf(redis, prefix);
  await redis.set(key, newToken()).catch(() => redis.del(key));
}

/** The current token; null = Redis was emptied since. @throws Error while Redis is unavailable */
const readToken = (redis: Client, prefix: string): Promise<string | null> => redis.get(keyOf(redis, prefix));

/** As `readToken`, but creates a token if there is none, so that a missing one means that Redis lost it. */
async function readOrCreateToken(redis: Client, prefix: string): Promise<string | null> {
  const known = await readToken(redis, prefix);
  if (known !== null) return known;
  const token = newToken();
  return (await redis.set(keyOf(redis, prefix), token, "NX")) === "OK" ? token : null;
}

/** The token, and which server of Redis it was read from (`Redis.incarnation`). */
export interface ReadToken {
  readonly token: string | null;
  readonly by: string | undefined;
  /** When it was asked for, by the clock on the wall. */
  readonly at: number;
}

/** What one node knows of the token. */
export class MissedChanges {
  /** The token when this node was last known to be up to date. */
  private confirmed: string | null = null;
  /** Which server of Redis it was read from. */
  private confirmedBy: string | undefined;
  /** The token that was read last, and from which server. */
  private latest: string | null = null;
  private latestBy: string | undefined;
  /** When this node was last known to be up to date, by the clock on the wall. */
  private confirmedAt = Number.NEGATIVE_INFINITY;
  /** Whether a replica has confirmed what was written to Redis, and when it was asked, by the clock on the wall. */
  private replica = { askedAt: Number.NEGATIVE_INFINITY, hasConfirmed: Promise.resolve(false) };
  private isUnproven = false;
  /** How often this node has answered without a proof, and since when what it had was not known to be current: the latest spells. */
  private spells: { last: number; readonly since: number }[] = [];
  private passes = 0;
  private cancelRetry: (() => void) | undefined;
  private hasStopped = false;

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    private readonly log: Log,
    private readonly clock: Pick<Clock, "after" | "wall">,
    /** How long after it was last up to date a node may answer from its caches without a proof; 0 = not at all. */
    private readonly unprovenMs = 0,
  ) {}

  /**
   * Records that some node may have missed a change, as soon as that is possible: a node that reads the token then must not take
   * what it has for current.
   * @throws Error when it is not possible yet
   */
  async report(): Promise<void> {
    try {
      await replaceToken(this.redis, this.prefix);
    } catch (error) {
      if (!this.hasStopped)
        this.cancelRetry ??= this.clock.after(retryMs, () => {
          this.cancelRetry = undefined;
          this.report().catch(() => undefined);
        });
      throw error;
    }
  }

  stop(): void {
    this.hasStopped = true;
    this.cancelRetry?.();
  }

  /** The token that was read last. */
  get token(): ReadToken {
    return { token: this.latest, by: this.latestBy, at: this.clock.wall() };
  }

  /** Reads the token in the background: Redis may hang, and callers must not wait for it. */
  refresh(): void {
    const { incarnation } = this.redis;
    readOrCreateToken(this.redis, this.prefix).then(
      (token) => {
        this.latest = token;
        this.latestBy = incarnation;
      },
      () => undefined,
    );
  }

  /** This node has received all changes that were committed before the token was replaced again. */
  confirm({ token, by, at }: ReadToken): void {
    this.confirmed = token;
    this.confirmedBy = by;
    this.confirmedAt = at;
    this.isUnproven = false;
  }

  /**
   * To be called when a request arrives. The function that it returns says when what is answered was current for sure, in ms of the
   * clock on the wall; undefined = it is now. The node may be up to date again by then, and the answer made of what it had before.
   */
  watch(isTrusted: () => boolean): () => number | undefined {
    const before = this.passes;
    const asked = this.clock.wall();
    return () => {
      const isOld = this.passes > before || (this.isUnproven && !isTrusted());
      if (!isOld) return undefined;
      const { since } = this.spells.find(({ last }) => last > before) ?? { since: this.confirmedAt };
      return Math.min(since, asked);
    };
  }

  /** Whether Redis is the primary, as far as Sentinel has a say in that. */
  private isPrimary(): Promise<boolean> | boolean {
    if (!this.redis.isBySentinel) return true;
    const now = this.clock.wall();
    if (Math.abs(now - this.replica.askedAt) >= confirmedForMs)
      this.replica = { askedAt: now, hasConfirmed: this.askReplica() };
    return this.replica.hasConfirmed;
  }

  private async askReplica(): Promise<boolean> {
    try {
      // By one connection: what is waited for is what it has written.
      await this.redis.set(`${keyOf(this.redis, this.prefix)}:primary`, "1", "PX", 10 * confirmedForMs);
      return (await this.redis.wait(1, replicaMs)) >= 1;
    } catch {
      return false;
    }
  }

  private pass(): void {
    this.isUnproven = true;
    this.passes++;
    const spell = this.spells.at(-1);
    if (spell?.since === this.confirmedAt) spell.last = this.passes;
    else this.spells = [...this.spells.slice(-mostSpells), { last: this.passes, since: this.confirmedAt }];
  }

  /**
   * For nodes that cannot query the database: makes sure that no change was committed that this node has missed, or that it
   * may answer without knowing that. A replica that took the place of another Redis may not have got what that one was told
   * last, and says nothing until this node has been up to date once more. The one before may go on where this node is: it counts as
   * long as a replica confirms what is written to it.
   * @throws Failure busy
   */
  async requireNone(cause: unknown): Promise<void> {
    // While Redis is away, too, nobody can say.
    const known = async () => ((await this.isPrimary()) ? readToken(this.redis, this.prefix) : null);
    const token = await known().catch(() => null);
    if (token !== null && token === this.confirmed && this.redis.incarnation === this.confirmedBy) return;
    // The clock may be set back.
    if (Math.abs(this.clock.wall() - this.confirmedAt) < this.unprovenMs) return this.pass();
    this.log.warn({ err: cause }, "this node cannot tell whether what it has is current");
    throw busy("The database cannot be reached just now.");
  }
}
