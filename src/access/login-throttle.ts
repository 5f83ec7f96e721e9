import { createHash } from "node:crypto";
import { busy, Failure } from "../errors.js";
import type { Redis } from "../storage/redis.js";

/**
 * Bounds how often passwords can be guessed, over all nodes. Failures are counted in Redis, by its clock, in windows
 * that slide: per login and address together, per address, and (at a higher limit, against guesses from many
 * addresses) per login. For a login at an address where it succeeded lately only the first counts, so that neither
 * strangers nor neighbours behind the same address can lock a user out.
 */

export interface ThrottleLimits {
  readonly windowSeconds: number;
  /** Failures in one window after which attempts are refused unseen. */
  readonly failuresPerLoginAndAddress: number;
  readonly failuresPerAddress: number;
  readonly failuresPerLogin: number;
}

/** Who tries what, from where. */
export interface Attempt {
  readonly login: string;
  /** As text; IPv6 counts by its first 64 bits, which one client can have to itself. */
  readonly address: string;
}

/** What a wrong login is told, throttled or not. */
const refusal = "The login is unknown or the password is wrong.";

/** A wrong login; `retryAfterSeconds` says when the next attempt will be looked at. */
export const wrongLogin = (retryAfterSeconds?: number): Failure =>
  new Failure("forbidden", undefined, refusal, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });

/** How long an address where a login succeeded is known. */
const knownSeconds = 30 * 86_400;

/**
 * KEYS: counters per login and address, address, login; the mark of a known address.
 * ARGV: the window in ms, then the limit of each counter.
 * A counter holds the number of its window (w), its count (c) and that of the window before (p); the latter counts
 * by the share of it that the sliding window still covers.
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

/** Milliseconds until the attempt would be looked at; 0 = now. */
const waitScript = `${counters}
local wait = 0
for i = 1, 3 do
  local limit = tonumber(ARGV[i + 1])
  local c, p = read(KEYS[i])
  if c + p * (span - elapsed) / span >= limit and (i == 1 or redis.call('EXISTS', KEYS[4]) == 0) then
    local left
    if c >= limit then left = span - elapsed + span * (1 - limit / c)
    else left = span * (1 - (limit - c) / p) - elapsed end
    wait = math.max(wait, math.ceil(left), 1)
  end
end
return wait
`;

const failScript = `${counters}
for i = 1, 3 do
  local c, p = read(KEYS[i])
  redis.call('HSET', KEYS[i], 'w', index, 'c', c + 1, 'p', p)
  redis.call('PEXPIRE', KEYS[i], 2 * span)
end
return 0
`;

export class LoginThrottle {
  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    private readonly limits: ThrottleLimits,
  ) {}

  /** @throws Failure forbidden (as `wrongLogin`) when there were too many; busy while Redis is away */
  async admit(attempt: Attempt): Promise<void> {
    const wait = await this.run(waitScript, attempt);
    if (wait > 0) throw wrongLogin(Math.ceil(wait / 1000));
  }

  /** The attempt was wrong. @throws Failure busy while Redis is away */
  async failed(attempt: Attempt): Promise<void> {
    await this.run(failScript, attempt);
  }

  /**
   * The attempt was right: the login's counter at this address begins anew. That of the address does not, or whoever
   * has one login could guess at others without end.
   * @throws Failure busy while Redis is away
   */
  async succeeded(attempt: Attempt): Promise<void> {
    const [counter, , , known] = this.keys(attempt);
    try {
      await Promise.all([this.redis.del(counter), this.redis.set(known, "1", "EX", knownSeconds)]);
    } catch {
      throw away();
    }
  }

  private async run(script: string, attempt: Attempt): Promise<number> {
    const { windowSeconds, failuresPerLoginAndAddress, failuresPerAddress, failuresPerLogin } = this.limits;
    const limits = [failuresPerLoginAndAddress, failuresPerAddress, failuresPerLogin];
    try {
      return Number(await this.redis.eval(script, 4, ...this.keys(attempt), windowSeconds * 1000, ...limits));
    } catch {
      throw away();
    }
  }

  /** Hashes, since a login may be of any length, and a password by mistake. */
  private keys({ login, address }: Attempt): [string, string, string, string] {
    const place = addressGroup(address);
    const key = (kind: string, ...parts: string[]) =>
      `${this.prefix}a:${kind}:${createHash("sha256").update(JSON.stringify(parts)).digest("base64url")}`;
    return [
      key("both", login, place),
      key("address", place),
      key("login", login),
      key("known", login, place),
    ];
  }
}

const away = (): Failure => busy("Logins cannot be checked just now.");

/** What of an address counts as one client: IPv4 whole, of IPv6 the first four groups. */
export function addressGroup(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail ? tail.split(":") : [];
  if (tail !== undefined)
    groups.push(...Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill("0"));
  return `${[...groups, ...rest].slice(0, 4).join(":")}::/64`;
}
