import type { Config } from "../config.js";
import { counted } from "../counted.js";
import { createLog } from "../log.js";
import { connectInTime, openRedis } from "../storage/redis.js";
import { bad, type Check, good } from "./check.js";
import { connected } from "./checks.js";

/** The check of `mapwright doctor` that compares the clock of this machine with those of PostgreSQL and Redis. */

/** Answers of one second are dated with the second before or after it. */
const fewMs = 2_000;
/** Tokens of issuers, signatures for S3 and times in answers are wrong then. */
const tooManyMs = 60_000;

const advice = "let each machine set its clock by the network (chrony, systemd-timesyncd)";

/** How far apart the clocks are. Those that cannot be asked are left out: other checks tell why. */
export async function checkClocks(
  config: Pick<Config, "databaseUrl" | "redisUrl" | "redisPrefix">,
): Promise<Check[]> {
  const asked = await Promise.all([
    differenceTo("PostgreSQL", () => clockOfDatabase(config.databaseUrl)),
    differenceTo("Redis", () => clockOfRedis(config)),
  ]);
  const known = asked.filter((one) => one !== undefined);
  return known.length === 0 ? [] : [checkDifferences(known)];
}

interface Difference {
  readonly of: string;
  /** Positive = it is ahead of this machine. */
  readonly ms: number;
}

/** @param known one or more */
export function checkDifferences(known: readonly Difference[]): Check {
  const { of, ms } = known.reduce((one, other) => (Math.abs(other.ms) > Math.abs(one.ms) ? other : one));
  const apart = Math.abs(ms);
  if (apart < fewMs) return good("clocks", `this machine's agrees with ${counted(known.length, "other")}`);
  const found = `that of ${of} is ${(apart / 1_000).toFixed(0)} s ${ms > 0 ? "ahead of" : "behind"} this machine's`;
  return apart < tooManyMs ? { ...good("clocks", found), advice } : bad("clocks", found, advice);
}

/** @param ask reads a clock, in milliseconds since 1970, and how long that took */
async function differenceTo(of: string, ask: () => Promise<Reading>): Promise<Difference | undefined> {
  try {
    const { at, before, after } = await ask();
    // It was read between the two.
    return { of, ms: at < before ? at - before : Math.max(0, at - after) };
  } catch {
    return undefined;
  }
}

/** A clock, and this machine's before and after it was read; milliseconds since 1970. */
interface Reading {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

async function reading(ask: () => Promise<number>): Promise<Reading> {
  const before = Date.now();
  const at = await ask();
  return { at, before, after: Date.now() };
}

async function clockOfDatabase(url: string): Promise<Reading> {
  const client = await connected(url);
  try {
    return await reading(async () => {
      const { rows } = await client.query<{ ms: number }>(
        "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
      );
      return rows[0]!.ms;
    });
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function clockOfRedis({
  redisUrl,
  redisPrefix,
}: Pick<Config, "redisUrl" | "redisPrefix">): Promise<Reading> {
  const redis = openRedis(redisUrl, createLog("silent", "doctor"), { prefix: redisPrefix });
  try {
    await connectInTime(redis);
    return await reading(async () => {
      const [seconds, microseconds] = await redis.time();
      return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    });
  } finally {
    redis.disconnect();
  }
}
