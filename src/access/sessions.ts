import { createHash, randomBytes } from "node:crypto";
import type { UserName } from "../catalog/state.js";
import { busy, type Failure } from "../errors.js";
import { troubleOf } from "../storage/redis/state.js";
import { eachMatching } from "../storage/redis/together.js";
import { togetherPrefix } from "../storage/redis/together-prefix.js";
import type { Redis } from "../storage/redis.js";

/** How a session was opened: by a login through the API, or on the command line. */
export type SessionOrigin = "api" | "console";

export interface Session extends UserName {
  readonly projectId: number;
  readonly origin: SessionOrigin;
  /** The user who requested this session for another user; it has no more rights than that user has. */
  readonly grantedBy?: UserName;
  /** Opened with the user's password. Sessions of earlier versions do not say so. */
  readonly isByPassword?: true;
}

/** Sessions in Redis. They expire `idleSeconds` after their last use. */
export interface Sessions {
  /** @returns the token: 256 random bits, base64url; only its hash is stored @throws Failure busy while Redis is unavailable */
  open(session: Session): Promise<string>;
  /**
   * Finds a session and restarts its idle time; undefined if the token is unknown or expired.
   * @throws Failure busy while Redis is unavailable
   */
  find(token: string): Promise<Session | undefined>;
  /** The same for who looks at what is there and uses nothing: `find` does not restart the idle time. */
  readonly looking: Pick<Sessions, "find">;
  /** @throws Failure busy while Redis is unavailable */
  close(token: string): Promise<void>;
}

export interface SessionOptions {
  readonly idleSeconds: number;
  /** Of all keys of this installation. */
  readonly prefix: string;
}

/** 256 bits as base64url, as tokens and keys of tiles are. */
export const secretPattern = /^[A-Za-z0-9_-]{43}$/;
const unavailable = (): Failure => busy("Sessions cannot be checked just now.");

type RedisOfSessions = Pick<Redis, "get" | "getex" | "set" | "del" | "isCluster">;

class RedisSessions implements Sessions {
  private readonly start: string;

  constructor(
    private readonly redis: RedisOfSessions,
    private readonly options: SessionOptions,
  ) {
    this.start = sessionPrefix(togetherPrefix(redis, options.prefix));
  }

  async open(session: Session): Promise<string> {
    const token = randomBytes(32).toString("base64url");
    try {
      await this.redis.set(this.key(token), JSON.stringify(session), "EX", this.options.idleSeconds);
    } catch {
      throw unavailable();
    }
    return token;
  }

  async find(token: string): Promise<Session | undefined> {
    if (!secretPattern.test(token)) return undefined;
    const key = this.key(token);
    return this.read(() =>
      orLook(
        () => this.redis.getex(key, "EX", this.options.idleSeconds),
        () => this.redis.get(key),
      ),
    );
  }

  readonly looking = {
    find: async (token: string) =>
      secretPattern.test(token) ? this.read(() => this.redis.get(this.key(token))) : undefined,
  };

  private async read(get: () => Promise<string | null>): Promise<Session | undefined> {
    let text: string | null;
    try {
      text = await get();
    } catch {
      throw unavailable();
    }
    return text === null ? undefined : (JSON.parse(text) as Session);
  }

  async close(token: string): Promise<void> {
    if (!secretPattern.test(token)) return;
    try {
      await this.redis.del(this.key(token));
    } catch {
      throw unavailable();
    }
  }

  private key(token: string): string {
    return `${this.start}${secretHash(token)}`;
  }
}

/**
 * What a use finds. Where Redis cannot write to its disk, it takes none, and closes no session either: what is there holds until its time
 * is over.
 */
export const orLook = <T>(use: () => Promise<T>, look: () => Promise<T>): Promise<T> =>
  use().catch((error: unknown) => {
    if (troubleOf(error) !== "unsaved") throw error;
    return look();
  });

/**
 * What is stored of a token, or of a key of tiles: 43 characters. A reader of Redis gets no access by it. 256 random bits need
 * no slow hash; and as it is looked up, no comparison takes longer for a better guess.
 */
export const secretHash = (secret: string): string => createHash("sha256").update(secret).digest("base64url");

/** Followed by the hash of a token. @param prefix of keys that are used together */
export const sessionPrefix = (prefix: string): string => `${prefix}s:`;

export const openSessions = (redis: RedisOfSessions, options: SessionOptions): Sessions =>
  new RedisSessions(redis, options);

/**
 * Closes all sessions of an account, and those that it requested for other users: after a new password, or when a user is
 * removed.
 * @param prefix of the installation's keys
 * @returns number of closed sessions
 */
export async function closeSessionsOf(redis: Redis, prefix: string, accountId: number): Promise<number> {
  const start = sessionPrefix(togetherPrefix(redis, prefix));
  let closed = 0;
  await eachMatching(redis, `${globLiteral(start)}*`, async (server, found) => {
    // Compiled styles were stored under such names, too.
    const keys = found.filter((key) => secretPattern.test(key.slice(start.length)));
    if (keys.length === 0) return;
    const values = await server.mget(keys);
    const own = keys.filter((_, i) => {
      const text = values[i];
      if (!text) return false;
      const session = JSON.parse(text) as Session;
      return session.accountId === accountId || session.grantedBy?.accountId === accountId;
    });
    if (own.length > 0) closed += await server.unlink(own);
  });
  return closed;
}

/** Escapes the special characters of Redis's MATCH patterns. */
export const globLiteral = (text: string): string => text.replace(/[\\*?[\]]/g, "\\$&");
