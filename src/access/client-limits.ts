import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.js";
import { tooMany } from "../errors.js";
import type { Log } from "../log.js";
import { siteFactor, siteOf } from "../queues/clients.js";
import { togetherPrefix } from "../storage/redis/together-prefix.js";
import type { Redis } from "../storage/redis.js";

/**
 * How many requests a client may send in a minute, by what they are for. Nodes count together in Redis, over a sliding
 * window by its clock; while Redis is away each counts for itself. Without a limit nothing is counted. The networks of an IPv6
 * site have a limit together, too.
 */

const limitedWork = ["tiles", "reads", "lists", "writes", "transfers", "pictures"] as const;
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
 * KEYS: counts, each with the index of its window (w), its own count (c) and that of the window before (p), which is weighted
 * by the share that the sliding window still covers. ARGV: window in ms, and the limit of each. The request counts for all if
 * each has room, else for none. Returns the ms of this window that are over, and for each whether it had room, and both counts.
 */
const script = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local span = tonumber(ARGV[1])
local index = math.floor(now / span)
local elapsed = now - index * span
local answer = {elapsed}
local hasRoom = true
for i, key in ipairs(KEYS) do
  local found = redis.call('HMGET', key, 'w', 'c', 'p')
  local w, c, p = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])
  if w == index - 1 then
    p = c
    c = 0
  elseif w ~= index then
    p = 0
    c = 0
  end
  local fits = c + p * (span - elapsed) / span < tonumber(ARGV[i + 1])
  hasRoom = hasRoom and fits
  table.insert(answer, fits and 1 or 0)
  table.insert(answer, c)
  table.insert(answer, p)
end
if hasRoom then
  for i, key in ipairs(KEYS) do
    redis.call('HSET', key, 'w', index, 'c', answer[3 * i] + 1, 'p', answer[3 * i + 1])
    redis.call('PEXPIRE', key, 2 * span)
  end
end
return answer
`;

export interface ClientLimitsOptions {
  readonly redis: Pick<Redis, "eval" | "isCluster">;
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

  private readonly start: string;

  constructor(private readonly options: ClientLimitsOptions) {
    this.start = `${togetherPrefix(options.redis, options.prefix)}l:`;
  }

  applies(work: LimitedWork): boolean {
    return this.options.perMinute[work] > 0;
  }

  /**
   * Counts a request. Refused ones do not count, neither for the client nor for its site.
   * @param client account or network
   * @throws Failure too_many
   */
  async admit(work: LimitedWork, client: string): Promise<Quota> {
    const limit = this.options.perMinute[work];
    const site = siteOf(client);
    const counters: readonly Counter[] = [
      { key: `${work}:${client}`, limit },
      ...(site === client ? [] : [{ key: `${work}:${site}`, limit: siteFactor * limit }]),
    ];
    const { elapsed, counts } = await this.count(counters);
    const seconds = Math.max(1, Math.ceil((windowMs - elapsed) / 1_000));
    const quotas = counts.map(({ fits, now, before }, index) => {
      const { limit } = counters[index]!;
      const used = (fits ? now + 1 : now) + (before * (windowMs - elapsed)) / windowMs;
      const quota: Quota = { work, limit, left: Math.max(0, Math.floor(limit - used)), seconds };
      if (fits) return quota;
      this.refused++;
      throw tooMany(quota, secondsToWait({ limit, now, before, elapsed }));
    });
    return quotas.reduce((least, quota) => (quota.left < least.left ? quota : least));
  }

  private async count(counters: readonly Counter[]): Promise<Counted> {
    const { redis, log } = this.options;
    try {
      const counted = await redis.eval(
        script,
        counters.length,
        ...counters.map(({ key }) => `${this.start}${key}`),
        windowMs,
        ...counters.map(({ limit }) => limit),
      );
      this.isAlone = false;
      const [elapsed = 0, ...numbers] = (counted as unknown[]).map(Number);
      const counts = counters.map((_, index) => {
        const [fits, now = 0, before = 0] = numbers.slice(3 * index);
        return { fits: fits === 1, now, before };
      });
      return { elapsed, counts };
    } catch (error) {
      if (!this.isAlone)
        log.warn({ err: error }, "requests are counted by each node, as Redis cannot be asked");
      this.isAlone = true;
      return this.countHere(counters);
    }
  }

  private countHere(counters: readonly Counter[]): Counted {
    const time = this.options.clock.now();
    const index = Math.floor(time / windowMs);
    const elapsed = time - index * windowMs;
    const counts = counters.map(({ key, limit }) => {
      const known = this.own.get(key);
      const now = known?.index === index ? known.now : 0;
      const before = known?.index === index ? known.before : known?.index === index - 1 ? known.now : 0;
      return { fits: now + (before * (windowMs - elapsed)) / windowMs < limit, now, before };
    });
    if (counts.every(({ fits }) => fits))
      for (const [place, { now, before }] of counts.entries())
        this.own.set(counters[place]!.key, { index, now: now + 1, before });
    return { elapsed, counts };
  }
}

interface Counter {
  readonly key: string;
  readonly limit: number;
}

interface Counted {
  /** Ms of this window that are over. */
  readonly elapsed: number;
  /** Of each counter: whether it had room for the request, and its counts of this window and the one before without it. */
  readonly counts: readonly { readonly fits: boolean; readonly now: number; readonly before: number }[];
}

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
