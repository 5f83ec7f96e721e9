import { Redis } from "ioredis";
import { answerParent } from "../child.js";
import type { Done } from "../throughput.js";

/** The least that a process can do for a value in Redis: `getBuffer` in a loop. */

export interface GetsRequest {
  readonly redisUrl: string;
  readonly keys: readonly string[];
  readonly concurrency: number;
  readonly seconds: number;
}

let redis: Redis | undefined;

answerParent<GetsRequest, Done>(async (request) => {
  redis ??= new Redis(request.redisUrl);
  const client = redis;
  const started = performance.now();
  const until = started + request.seconds * 1000;
  let gets = 0;
  const loop = async () => {
    do {
      const value = await client.getBuffer(request.keys[gets++ % request.keys.length]!);
      if (!value) throw new Error("a key is gone");
    } while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: request.concurrency }, loop));
  return { count: gets, seconds: (performance.now() - started) / 1000 };
});
