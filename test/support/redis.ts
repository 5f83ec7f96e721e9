import { randomBytes } from "node:crypto";

/** URL of the temporary Redis of the test runner. */
export function testRedisUrl(): string {
  const url = process.env.MAPWRIGHT_TEST_REDIS_URL;
  if (!url) throw new Error("MAPWRIGHT_TEST_REDIS_URL is not set: run the tests with `npm test`.");
  return url;
}

/** A unique key prefix, so that tests can share one Redis. */
export const freshPrefix = (): string => `t${randomBytes(6).toString("hex")}:`;
