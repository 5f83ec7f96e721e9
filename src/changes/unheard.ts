import { randomBytes } from "node:crypto";
import type { Redis } from "../storage/redis.js";

/**
 * The word in Redis that something was changed which some node may not have heard of. A node that cannot ask the database
 * learns by it that others can, and that what it remembers may be old. Each word is another one, so that none comes back.
 */

const keyOf = (prefix: string): string => `${prefix}unheard`;
const newWord = (): string => randomBytes(12).toString("base64url");

type Client = Pick<Redis, "get" | "set">;

/** Leaves word. @throws Error while Redis is away */
export async function leaveWord(redis: Client, prefix: string): Promise<void> {
  await redis.set(keyOf(prefix), newWord());
}

/** The word that was left last; null = none since Redis was emptied. @throws Error while Redis is away */
export const readWord = (redis: Client, prefix: string): Promise<string | null> => redis.get(keyOf(prefix));

/** As `readWord`, and leaves the first one where there is none, so that its absence is known for a loss. */
export async function readOrLeaveWord(redis: Client, prefix: string): Promise<string | null> {
  const known = await readWord(redis, prefix);
  if (known !== null) return known;
  const word = newWord();
  return (await redis.set(keyOf(prefix), word, "NX")) === "OK" ? word : null;
}
