import type { Config } from "../config.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";

/**
 * Fair queue of maps that are drawn for documents. Each draws one metatile after the other, and all of them leave a render at
 * once to tiles, where there is more than one: shapes that take seconds to draw keep no map waiting that somebody looks at.
 */
export const printSemaphore = ({ render, tiles }: Pick<Config, "render" | "tiles">): FairSemaphore =>
  new FairSemaphore({
    permits: Math.max(1, render.concurrency - 1),
    mostOfOne: Math.max(1, Math.floor(render.concurrency / 2)),
    mostWaiting: tiles.queueLength,
    timeoutMs: tiles.deadlineMs,
    refusal: "Too many documents with maps are being made.",
  });
