import { Redis as Connection } from "ioredis";
import type { RedisAddress, RedisUrl } from "../../redis-url.js";

const askMs = 2_000;

/** Which server a Sentinel calls the primary, whether or not it answers; undefined = none of them says so in time. */
export async function namedPrimary(place: RedisUrl & { kind: "sentinel" }): Promise<string | undefined> {
  const answers = place.sentinels.map((sentinel) => ask(sentinel, place));
  return Promise.any(answers).catch(() => undefined);
}

/** @throws Error when it names none */
async function ask(
  { host, port }: RedisAddress,
  { name, username, password }: RedisUrl & { kind: "sentinel" },
): Promise<string> {
  const sentinel = new Connection({
    ...{ host, port, lazyConnect: true, connectTimeout: askMs, commandTimeout: askMs },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    // A Sentinel has no INFO that says whether it loads.
    enableReadyCheck: false,
    retryStrategy: () => null,
  });
  sentinel.on("error", () => undefined);
  try {
    await sentinel.connect();
    const found = (await sentinel.call("SENTINEL", "get-master-addr-by-name", name)) as
      | [string, string]
      | null;
    if (!found) throw new Error(`There is no primary named ${name}.`);
    return found.join(":");
  } finally {
    sentinel.disconnect();
  }
}
