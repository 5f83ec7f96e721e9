import { createHash, randomBytes } from "node:crypto";
import type { UserName } from "../catalog/state.js";
import { busy, type Failure } from "../errors.js";
import type { Redis } from "../storage/redis.js";

/** Where a session came from: the API's login, or the administration's command line. */
export type SessionOrigin = "api" | "console";

export interface Session extends UserName {
  readonly projectId: number;
  readonly origin: SessionOrigin;
  /** The user who asked for this session of another, and whose rights bound it. */
  readonly grantedBy?: UserName;
}

/** Sessions in Redis, kept by Redis's clock; a session lives `idleSeconds` after its last use. */
export interface Sessions {
  /** The token: 256 random bits, base64url. Only its hash is stored. @throws Failure busy while Redis is away */
  open(session: Session): Promise<string>;
  /**
   * The session of a token, whose idle time starts again; undefined for an unknown or ended one.
   * @throws Failure busy while Redis is away: a token is then neither right nor wrong
   */
  find(token: string): Promise<Session | undefined>;
  /** @throws Failure busy while Redis is away */
  close(token: string): Promise<void>;
}

export interface SessionOptions {
  readonly idleSeconds: number;
  /** Prefix of all keys of this installation. */
  readonly prefix: string;
}

const tokenPattern = /^[A-Za-z0-9_-]{43}$/;
const away = (): Failure => busy("Sessions cannot be checked just now.");

class RedisSessions implements Sessions {
  constructor(
    private readonly redis: Redis,
    private readonly options: SessionOptions,
  ) {}

  async open(session: Session): Promise<string> {
    const token = randomBytes(32).toString("base64url");
    try {
      await this.redis.set(this.key(token), JSON.stringify(session), "EX", this.options.idleSeconds);
    } catch {
      throw away();
    }
    return token;
  }

  async find(token: string): Promise<Session | undefined> {
    if (!tokenPattern.test(token)) return undefined;
    let text: string | null;
    try {
      text = await this.redis.getex(this.key(token), "EX", this.options.idleSeconds);
    } catch {
      throw away();
    }
    return text === null ? undefined : (JSON.parse(text) as Session);
  }

  async close(token: string): Promise<void> {
    if (!tokenPattern.test(token)) return;
    try {
      await this.redis.del(this.key(token));
    } catch {
      throw away();
    }
  }

  /** The hash, so that who can read Redis cannot act as a user. 256 random bits need no slow hash. */
  private key(token: string): string {
    return `${keyPrefix(this.options.prefix)}${createHash("sha256").update(token).digest("base64url")}`;
  }
}

const keyPrefix = (prefix: string): string => `${prefix}s:`;

export const openSessions = (redis: Redis, options: SessionOptions): Sessions =>
  new RedisSessions(redis, options);

/**
 * Ends every session of an account, and those of others that it asked for: for a new password or a removed user.
 * @param prefix of the installation's keys
 * @returns how many there were
 */
export async function closeSessionsOf(redis: Redis, prefix: string, accountId: number): Promise<number> {
  let closed = 0;
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(
      cursor,
      "MATCH",
      `${globLiteral(keyPrefix(prefix))}*`,
      "COUNT",
      1_000,
    );
    cursor = next;
    if (keys.length === 0) continue;
    const values = await redis.mget(keys);
    const own = keys.filter((_, i) => {
      const text = values[i];
      if (!text) return false;
      const session = JSON.parse(text) as Session;
      return session.accountId === accountId || session.grantedBy?.accountId === accountId;
    });
    if (own.length > 0) closed += await redis.unlink(own);
  } while (cursor !== "0");
  return closed;
}

/** The text with the characters escaped that Redis's MATCH gives a meaning. */
export const globLiteral = (text: string): string => text.replace(/[\\*?[\]]/g, "\\$&");
