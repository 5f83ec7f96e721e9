import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.js";
import { tooMany } from "../errors.js";
import type { Log } from "../log.js";
import type { Redis } from "../storage/redis.js";
import { siteFactor, siteOf } from "../turns/clients.js";

/**
 * How many requests a client may send in a minute, by what they are for. Nodes count together in Redis, over a sliding
 * window by its clock; while Redis is away each counts for itself. Without a limit nothing is counted. The networks of an IPv6
 * site have a limit together, too.
 */

export const limitedWork = ["tiles", "reads", "lists", "writes", "transfers", "pictures"] as const;
export type LimitedWork = (typeof limitedWork)[number];

/** Requests in a minute; 0 = any number. */
export type MinuteLimits = Readonly<Record<LimitedWork, number>>;

/** What a client has left of its limit. */
export interface Quota {
  readonly work: LimitedWork;
  readonly limit: number;
  readonly left: number;
  /** Until the window that is counted ends. */
  readonly seconds: number;
}

const windowMs = 60_000;
/** Clients that a node counts while Redis is away. */
const mostClients = 10_000;

/** In a window (by its index): this one's count, and that of the one before. */
interface Count {
  readonly index: number;
  readonly now: number;
  readonly before: number;
}

/**
 * KEYS: the client's count, with the index of its window (w), its own count (c) and that of the window before (p), which is
 * weighted by the share that the sliding window still covers. ARGV: window in ms, limit. Returns whether there is room, both
 * counts, and the ms of this window that are over.
 */
const script = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local span = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])
local index = math.floor(now / span)
local elapsed = now - index * span
local found = redis.call('HMGET', KEYS[1], 'w', 'c', 'p')
local w, c, p = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])
if w == index - 1 then
  p = c
  c = 0
elseif w ~= index then
  p = 0
  c = 0
end
if c + p * (span - elapsed) / span < limit then
  redis.call('HSET', KEYS[1], 'w', index, 'c', c + 1, 'p', p)
  redis.call('PEXPIRE', KEYS[1], 2 * span)
  return {1, c + 1, p, elapsed}
end
return {0, c, p, elapsed}
`;

export interface ClientLimitsOptions {
  readonly redis: Pick<Redis, "eval">;
  /** Of all keys in Redis. */
  readonly prefix: string;
  readonly perMinute: MinuteLimits;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

export class ClientLimits {
  /** Counts of this node, while Redis is away. */
  private readonly own = new LRUCache<string, Count>({ max: mostClients });
  private isAlone = false;
  /** Requests that were refused since the start. */
  refused = 0;

  constructor(private readonly options: ClientLimitsOptions) {}

  applies(work: LimitedWork): boolean {
    return this.options.perMinute[work] > 0;
  }

  /**
   * Counts a request. Refused ones do not count.
   * @param client account or network
   * @throws Failure too_many
   */
  async admit(work: LimitedWork, client: string): Promise<Quota> {
    const limit = this.options.perMinute[work];
    const quota = await this.admitOf(work, client, limit);
    const site = siteOf(client);
    if (site === client) return quota;
    const ofSite = await this.admitOf(work, site, siteFactor * limit);
    return ofSite.left < quota.left ? ofSite : quota;
  }

  /** @param client or its site */
  private async admitOf(work: LimitedWork, client: string, limit: number): Promise<Quota> {
    const [admitted, now, before, elapsed] = await this.count(`${work}:${client}`, limit);
    const used = now + (before * (windowMs - elapsed)) / windowMs;
    const seconds = Math.max(1, Math.ceil((windowMs - elapsed) / 1_000));
    const quota: Quota = { work, limit, left: Math.max(0, Math.floor(limit - used)), seconds };
    if (admitted) return quota;
    this.refused++;
    throw tooMany(quota, secondsToWait({ limit, now, before, elapsed }));
  }

  /** @returns whether there is room for it, the counts of this window and the one before, ms of this one that are over */
  private async count(key: string, limit: number): Promise<Counted> {
    const { redis, prefix, log } = this.options;
    try {
      const counted = await redis.eval(script, 1, `${prefix}l:${key}`, windowMs, limit);
      this.isAlone = false;
      const [admitted = 0, now = 0, before = 0, elapsed = 0] = (counted as unknown[]).map(Number);
      return [admitted === 1, now, before, elapsed];
    } catch (error) {
      if (!this.isAlone)
        log.warn({ err: error }, "requests are counted by each node, as Redis cannot be asked");
      this.isAlone = true;
      return this.countHere(key, limit);
    }
  }

  private countHere(key: string, limit: number): Counted {
    const time = this.options.clock.now();
    const index = Math.floor(time / windowMs);
    const elapsed = time - index * windowMs;
    const known = this.own.get(key);
    const now = known?.index === index ? known.now : 0;
    const before = known?.index === index ? known.before : known?.index === index - 1 ? known.now : 0;
    if (now + (before * (windowMs - elapsed)) / windowMs >= limit) return [false, now, before, elapsed];
    this.own.set(key, { index, now: now + 1, before });
    return [true, now + 1, before, elapsed];
  }
}

type Counted = readonly [admitted: boolean, now: number, before: number, elapsed: number];

/** Until there is room for another request. */
function secondsToWait({
  limit,
  now,
  before,
  elapsed,
}: Record<"limit" | "now" | "before" | "elapsed", number>) {
  const ms =
    now >= limit
      ? windowMs - elapsed + windowMs * (1 - limit / now)
      : windowMs * (1 - (limit - now) / before) - elapsed;
  return Math.max(1, Math.ceil(ms / 1_000));
}
