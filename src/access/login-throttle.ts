import { createHash } from "node:crypto";
import { busy, Failure } from "../errors.js";
import { networkOf, siteFactor, siteOf } from "../queues/clients.js";
import { togetherPrefix } from "../storage/redis/together-prefix.js";
import type { Redis } from "../storage/redis.js";

/**
 * Rate limit for failed logins, shared by all nodes. Failures are counted in Redis, by its clock, in sliding windows: per
 * login and address, per address, per IPv6 site, and (with a higher limit, against attacks from many addresses) per login. At an address
 * where the login succeeded recently only the first applies, so that neither attackers elsewhere nor other users behind
 * the same address can lock a user out.
 */

export interface ThrottleLimits {
  readonly windowSeconds: number;
  /** Failures in a window after which attempts are refused without checking the password. */
  readonly failuresPerLoginAndAddress: number;
  readonly failuresPerAddress: number;
  readonly failuresPerLogin: number;
}

/** A login attempt. */
export interface Attempt {
  /** Whose failures are counted together. */
  readonly login: string;
  /** IP address as text. IPv6 addresses are grouped by /64, the usual network of one client. */
  readonly address: string;
}

/** The same message for a wrong password and a throttled attempt. */
const refusal = "The login is unknown or the password is wrong.";

/** The error for a failed attempt. @param retryAfterSeconds for a throttled one: when the next one will be checked */
export type Refusal = (retryAfterSeconds?: number) => Failure;

export const wrongLogin: Refusal = (retryAfterSeconds) =>
  new Failure("forbidden", undefined, refusal, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });

/** How long the address of a successful login is remembered. */
const knownSeconds = 30 * 86_400;

/**
 * KEYS: counters per login and address, per address, per login, and per site of an IPv6 address; the flag of a known address.
 * ARGV: the window in ms, then the limit of each counter.
 * A counter has the index of its window (w), its count (c) and the count of the window before (p), which is weighted by
 * the share that the sliding window still covers.
 */
const counters = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local span = tonumber(ARGV[1])
local index = math.floor(now / span)
local elapsed = now - index * span
local function read(key)
  local found = redis.call('HMGET', key, 'w', 'c', 'p')
  local w, c, p = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])
  if w == index then return c, p end
  if w == index - 1 then return 0, c end
  return 0, 0
end
`;

/** Returns the milliseconds until the attempt would be checked; 0 = now. */
const waitScript = `${counters}
local wait = 0
for i = 1, #KEYS - 1 do
  local limit = tonumber(ARGV[i + 1])
  local c, p = read(KEYS[i])
  if c + p * (span - elapsed) / span >= limit and (i == 1 or redis.call('EXISTS', KEYS[#KEYS]) == 0) then
    local left
    if c >= limit then left = span - elapsed + span * (1 - limit / c)
    else left = span * (1 - (limit - c) / p) - elapsed end
    wait = math.max(wait, math.ceil(left), 1)
  end
end
return wait
`;

const failScript = `${counters}
for i = 1, #KEYS - 1 do
  local c, p = read(KEYS[i])
  redis.call('HSET', KEYS[i], 'w', index, 'c', c + 1, 'p', p)
  redis.call('PEXPIRE', KEYS[i], 2 * span)
end
return 0
`;

export class LoginThrottle {
  private readonly start: string;

  /** @param prefix of the installation's keys */
  constructor(
    private readonly redis: Redis,
    prefix: string,
    private readonly limits: ThrottleLimits,
  ) {
    this.start = `${togetherPrefix(redis, prefix)}a:`;
  }

  /** @throws Failure refusal after too many failures; busy while Redis is unavailable */
  async admit(attempt: Attempt, refusal: Refusal = wrongLogin): Promise<void> {
    const wait = await this.run(waitScript, attempt);
    if (wait > 0) throw refusal(Math.ceil(wait / 1000));
  }

  /** Counts a failed attempt. @throws Failure busy while Redis is unavailable */
  async failed(attempt: Attempt): Promise<void> {
    await this.run(failScript, attempt);
  }

  /**
   * Resets the counter of the login at this address. The counter of the address stays: otherwise a client with one valid
   * login could guess the passwords of others without limit.
   * @throws Failure busy while Redis is unavailable
   */
  async succeeded(attempt: Attempt): Promise<void> {
    const { counters, known } = this.keys(attempt);
    try {
      await Promise.all([this.redis.del(counters[0]!.key), this.redis.set(known, "1", "EX", knownSeconds)]);
    } catch {
      throw unavailable();
    }
  }

  private async run(script: string, attempt: Attempt): Promise<number> {
    const { counters, known } = this.keys(attempt);
    const keys = [...counters.map(({ key }) => key), known];
    const limits = counters.map(({ limit }) => limit);
    try {
      return Number(
        await this.redis.eval(script, keys.length, ...keys, 1000 * this.limits.windowSeconds, ...limits),
      );
    } catch {
      throw unavailable();
    }
  }

  /** Hashes: a login may be long, or a password that was entered by mistake. */
  private keys({ login, address }: Attempt) {
    const { failuresPerLoginAndAddress, failuresPerAddress, failuresPerLogin } = this.limits;
    const network = networkOf(address);
    const site = siteOf(network);
    const key = (kind: string, ...parts: string[]) =>
      `${this.start}${kind}:${createHash("sha256").update(JSON.stringify(parts)).digest("base64url")}`;
    return {
      counters: [
        { key: key("both", login, network), limit: failuresPerLoginAndAddress },
        { key: key("address", network), limit: failuresPerAddress },
        { key: key("login", login), limit: failuresPerLogin },
        ...(site === network ? [] : [{ key: key("site", site), limit: siteFactor * failuresPerAddress }]),
      ],
      known: key("known", login, network),
    };
  }
}

const unavailable = (): Failure => busy("Logins cannot be checked just now.");
