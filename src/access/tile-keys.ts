import { createHash, createHmac, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.js";
import { busy, type Failure, failed, unauthenticated } from "../errors.js";
import { togetherPrefix } from "../storage/redis/together-prefix.js";
import type { Redis } from "../storage/redis.js";
import { orLook, type Session, secretHash, secretPattern, sessionPrefix } from "./sessions.js";

/**
 * Keys for the tiles of one map, to stand in addresses that are given to other programs. A key is a part of the session that
 * made it: it has the rights of the session's user at the time of each request, and ends with the session. Its use counts as
 * one of the session, as somebody who looks at a map does nothing but ask for tiles; therefore it has a longest life, too.
 *
 * A key is made of the session's token and a random number, and only its hash is stored: a reader of Redis gets no access,
 * and yet the key of a TileJSON can be made again while its session lasts.
 */

export interface TileKey {
  /** 43 characters, base64url. */
  readonly key: string;
  /** When it ends at the latest: ms since 1970, by the clock of Redis. */
  readonly expiresAt: number;
}

export interface KeyOwner {
  readonly accountId: number;
  readonly mapId: number;
}

export interface TileKeys {
  /**
   * Makes a key.
   * @param token of the owner's session
   * @param seconds how long it lives at most; not longer than the installation allows, which is the default
   * @throws Failure unauthenticated when the session has ended; invalid_value when there are too many keys; busy
   */
  make(token: string, owner: KeyOwner, seconds?: number): Promise<TileKey>;
  /**
   * The key for a TileJSON that the session asks for: always the same one, and a new one after half of its life.
   * @returns undefined when the user has too many keys
   * @throws Failure unauthenticated when the session has ended; busy
   */
  shared(token: string, owner: KeyOwner): Promise<string | undefined>;
  /**
   * Finds the session of a key; undefined if the key is unknown or its session has ended. It restarts the idle time of the
   * session, of which at most a sixtieth is over by then.
   * @param mapId the map that it is used for; undefined = any
   * @returns "other" for a key of another map
   * @throws Failure busy while Redis is unavailable
   */
  find(key: string, mapId: number | undefined): Promise<Session | "other" | undefined>;
  /** As of sessions. */
  readonly looking: Pick<TileKeys, "find">;
  /**
   * Ends a key of the map.
   * @param accountId only if it is a key of this user; undefined = anybody's
   * @returns whether there was one
   * @throws Failure busy
   */
  revoke(key: string, mapId: number, accountId: number | undefined): Promise<boolean>;
  /** Ends all keys that these users have for the map. @returns their number @throws Failure busy */
  revokeAll(accountIds: readonly number[], mapId: number): Promise<number>;
}

export interface TileKeyOptions {
  /** As of sessions. */
  readonly idleSeconds: number;
  /** Longest life of a key. */
  readonly seconds: number;
  /** Prefix of all keys of this installation in Redis. */
  readonly prefix: string;
  readonly clock: Pick<Clock, "now">;
}

/** Keys that a session may have at a time, and as many again for TileJSON. */
export const mostOfSession = 64;
/** Keys of all sessions of a user. */
export const mostOfAccount = 1_000;
const accountsAtOnce = 100;

/**
 * In Redis there is for each key, by its hash: `<hash of the session's token> <map> <kind> <nonce> <account>`; and for each
 * account a sorted set of its keys, by the ms since 1970 at which they end: the hash of the key, and the same without the
 * account. A key counts only while it is in that set, so that none is left out when they are ended together, whatever Redis
 * drops when its memory is full. Keys whose session has ended lie there until their own end, or until there is need of their
 * place.
 */
const kinds = { asked: "a", shared: "t" } as const;
type Kind = (typeof kinds)[keyof typeof kinds];

/**
 * KEYS: the key. ARGV: its hash, the map ("" = any), prefix of the sets of accounts, prefix of sessions, their idle time in
 * seconds (0 = it goes on). Returns the session and the value of the key, 0 (unknown) or 1 (of another map, which is no use of the session).
 */
const findScript = `
local found = redis.call('GET', KEYS[1])
if not found then return 0 end
local listed, map, account = string.match(found, '^(%S+ (%S+) %S+ %S+) (%S+)$')
if not redis.call('ZSCORE', ARGV[3] .. account, ARGV[1] .. ' ' .. listed) then return 0 end
if ARGV[2] ~= '' and map ~= ARGV[2] then return 1 end
local name = ARGV[4] .. string.sub(found, 1, 43)
local session
if ARGV[5] == '0' then session = redis.call('GET', name) else session = redis.call('GETEX', name, 'EX', ARGV[5]) end
return session and {session, found} or 0
`;

/**
 * KEYS: the session, the keys of the account, the new key. ARGV: prefix of keys, prefix of sessions, hash of the token, map,
 * account, kind, nonce, hash of the new key, its life and the longest one in ms, most of a session, most of an account. Returns
 * what was done, the nonce of the key and when it ends.
 */
const makeScript = `
if redis.call('EXISTS', KEYS[1]) == 0 then return {'ended'} end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function remove(member)
  redis.call('ZREM', KEYS[2], member)
  redis.call('DEL', ARGV[1] .. string.sub(member, 1, 43))
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local members = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
local own = {}
for i = 1, #members, 2 do
  local hash, session, map, kind, nonce = string.match(members[i], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  if session == ARGV[3] and kind == ARGV[6] then
    if redis.call('EXISTS', ARGV[1] .. hash) == 0 then
      remove(members[i])
    elseif kind == '${kinds.shared}' and map == ARGV[4] and members[i + 1] - now > ARGV[9] / 2 then
      return {'kept', nonce, members[i + 1]}
    else
      own[#own + 1] = members[i]
    end
  end
end
if #own >= tonumber(ARGV[11]) then
  if ARGV[6] ~= '${kinds.shared}' then return {'many of the session'} end
  remove(own[1])
end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[12]) then
  for i = 1, math.min(#members, 128), 2 do
    local session = string.match(members[i], '^%S+ (%S+)')
    if redis.call('EXISTS', ARGV[2] .. session) == 0 then remove(members[i]) end
  end
  if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[12]) then return {'many of the user'} end
end
local ends = string.format('%.0f', now + ARGV[9])
local listed = table.concat({ARGV[3], ARGV[4], ARGV[6], ARGV[7]}, ' ')
redis.call('SET', KEYS[3], listed .. ' ' .. ARGV[5], 'PX', ARGV[9])
redis.call('ZADD', KEYS[2], ends, ARGV[8] .. ' ' .. listed)
redis.call('PEXPIRE', KEYS[2], ARGV[10])
return {'made', ARGV[7], ends}
`;

/** KEYS: the keys of the account. ARGV: prefix of keys, map, hash of the only key to end ("" = all). Returns their number. */
const revokeScript = `
local ended = 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local hash, map = string.match(member, '^(%S+) %S+ (%S+)')
  if map == ARGV[2] and (ARGV[3] == '' or hash == ARGV[3]) then
    redis.call('ZREM', KEYS[1], member)
    ended = ended + redis.call('DEL', ARGV[1] .. hash)
  end
end
return ended
`;

/**
 * What a node knows of a key that it found: what never changes of it. As each tile is preceded by a look-up, which should cost
 * no more than that of a token, only those that come after a while run the script, and the others ask whether key and session
 * are still there.
 */
interface KnownKey {
  /** Name of the session in Redis. */
  readonly session: string;
  readonly mapId: number;
  /** When the script was run, by the clock. */
  readonly foundAt: number;
}
const mostKnown = 10_000;
/** The script is run after this part of the idle time. */
const restShare = 1 / 60;

type RedisOfKeys = Pick<Redis, "get" | "mget" | "eval" | "evalsha" | "isCluster">;

class RedisTileKeys implements TileKeys {
  /** By the hash of the key. */
  private readonly known = new LRUCache<string, KnownKey>({ max: mostKnown });
  private readonly keys: string;
  private readonly accounts: string;
  private readonly sessions: string;

  constructor(
    private readonly redis: RedisOfKeys,
    private readonly options: TileKeyOptions,
  ) {
    const prefix = togetherPrefix(redis, options.prefix);
    this.keys = `${prefix}k:`;
    this.accounts = `${prefix}ka:`;
    this.sessions = sessionPrefix(prefix);
  }

  async make(token: string, owner: KeyOwner, seconds = this.options.seconds): Promise<TileKey> {
    const life = Math.min(seconds, this.options.seconds) * 1_000;
    const [outcome, nonce, ends] = await this.run(token, owner, kinds.asked, life);
    if (nonce === undefined) {
      const whose = outcome === "many of the session" ? "This session" : "This user";
      const most = outcome === "many of the session" ? mostOfSession : mostOfAccount;
      throw failed("invalid_value", `${whose} has ${most} keys already: end some of them.`, { most });
    }
    return { key: keyOf(token, nonce), expiresAt: Number(ends) };
  }

  async shared(token: string, owner: KeyOwner): Promise<string | undefined> {
    const [, nonce] = await this.run(token, owner, kinds.shared, this.options.seconds * 1_000);
    return nonce === undefined ? undefined : keyOf(token, nonce);
  }

  find(key: string, mapId: number | undefined): Promise<Session | "other" | undefined> {
    return this.found(key, mapId, true);
  }

  readonly looking = {
    find: (key: string, mapId: number | undefined) => this.found(key, mapId, false),
  };

  private async found(
    key: string,
    mapId: number | undefined,
    isUse: boolean,
  ): Promise<Session | "other" | undefined> {
    if (!secretPattern.test(key)) return undefined;
    const { clock, idleSeconds } = this.options;
    const hash = secretHash(key);
    const known = this.known.get(hash);
    const foundAt = clock.now();
    if (known && foundAt - known.foundAt < idleSeconds * 1_000 * restShare)
      return this.findAgain(hash, known, mapId);
    const find = (seconds: number) =>
      this.eval(findScript, [this.keys + hash], [hash, mapId ?? "", this.accounts, this.sessions, seconds]);
    const result = await orLook(
      () => find(isUse ? idleSeconds : 0),
      () => find(0),
    ).catch(refuse);
    if (result === 1) return "other";
    if (!Array.isArray(result)) {
      this.known.delete(hash);
      return undefined;
    }
    const [session, found] = result as [string, string];
    const [ofToken, map] = found.split(" ");
    // The next use restarts the idle time.
    if (isUse) this.known.set(hash, { session: `${this.sessions}${ofToken}`, mapId: Number(map), foundAt });
    return JSON.parse(session) as Session;
  }

  private async findAgain(
    hash: string,
    known: KnownKey,
    mapId: number | undefined,
  ): Promise<Session | "other" | undefined> {
    let found: readonly (string | null)[];
    try {
      found = await this.redis.mget(this.keys + hash, known.session);
    } catch {
      throw unavailable();
    }
    const [key, session] = found;
    if (!key || !session) {
      this.known.delete(hash);
      return undefined;
    }
    return mapId === undefined || mapId === known.mapId ? (JSON.parse(session) as Session) : "other";
  }

  async revoke(key: string, mapId: number, accountId: number | undefined): Promise<boolean> {
    if (!secretPattern.test(key)) return false;
    const hash = secretHash(key);
    let found: string | null;
    try {
      found = await this.redis.get(this.keys + hash);
    } catch {
      throw unavailable();
    }
    const owner = Number(found?.split(" ")[4]);
    if (found === null || (accountId !== undefined && accountId !== owner)) return false;
    return (await this.end({ accountId: owner, mapId }, hash)) > 0;
  }

  async revokeAll(accountIds: readonly number[], mapId: number): Promise<number> {
    let ended = 0;
    for (let from = 0; from < accountIds.length; from += accountsAtOnce) {
      const some = accountIds.slice(from, from + accountsAtOnce);
      const counts = await Promise.all(some.map((accountId) => this.end({ accountId, mapId }, "")));
      for (const count of counts) ended += count;
    }
    return ended;
  }

  private async end({ accountId, mapId }: KeyOwner, hash: string): Promise<number> {
    const keys = [this.accounts + accountId];
    return Number(await this.eval(revokeScript, keys, [this.keys, mapId, hash]).catch(refuse));
  }

  /** @throws Failure unauthenticated, busy */
  private async run(
    token: string,
    { mapId, accountId }: KeyOwner,
    kind: Kind,
    lifeMs: number,
  ): Promise<readonly [outcome: string, nonce?: string, ends?: string]> {
    const nonce = randomBytes(16).toString("base64url");
    const session = secretHash(token);
    const hash = secretHash(keyOf(token, nonce));
    const done = await this.eval(
      makeScript,
      [this.sessions + session, this.accounts + accountId, this.keys + hash],
      [
        ...[this.keys, this.sessions, session, mapId, accountId, kind, nonce, hash],
        ...[lifeMs, this.options.seconds * 1_000, mostOfSession, mostOfAccount],
      ],
    ).catch(refuse);
    const [outcome, ...made] = done as [string, string?, string?];
    if (outcome === "ended") throw unauthenticated("The session token is unknown or has expired.");
    return [outcome, ...made];
  }

  private async eval(
    script: string,
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<unknown> {
    const given = [keys.length, ...keys, ...values] as const;
    try {
      return await this.redis.evalsha(digestOf(script), ...given);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
    }
    return this.redis.eval(script, ...given);
  }
}

/** By which Redis knows a script that it has run before. */
const digests = new Map(
  [findScript, makeScript, revokeScript].map((script) => [
    script,
    createHash("sha1").update(script).digest("hex"),
  ]),
);
const digestOf = (script: string): string => digests.get(script)!;

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("NOSCRIPT");

const unavailable = (): Failure => busy("Keys cannot be checked just now.");

const refuse = (): never => {
  throw unavailable();
};

/** Not to be guessed without the token, and the token not to be found from it. */
const keyOf = (token: string, nonce: string): string =>
  createHmac("sha256", token).update(`tiles ${nonce}`).digest("base64url");

export const openTileKeys = (redis: RedisOfKeys, options: TileKeyOptions): TileKeys =>
  new RedisTileKeys(redis, options);
