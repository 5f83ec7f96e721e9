import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { hostEnvironment } from "./environment.js";
import { WorkerHost } from "./host.js";
import type { RenderMessages } from "./messages.js";

export type RenderHost = WorkerHost<RenderMessages & Record<string, [unknown, unknown]>>;

/**
 * Share of a render's time that one statement may take: what the database is too slow for then ends with its tile alone,
 * while a render that overruns its time takes the host and what it draws for others with it.
 */
const statementShare = 0.8;

/** Starts the child process that has Mapnik. */
export function startRenderHost(config: Config, log: Log): RenderHost {
  return new WorkerHost({
    name: "render",
    worker: "render",
    environment: hostEnvironment(
      config.databaseUrl,
      config.render.concurrency,
      Math.floor(statementShare * config.tiles.deadlineMs),
    ),
    // One more than run at once, so that the next metatile is there when one is done.
    concurrency: config.render.concurrency + 1,
    queueLength: config.tiles.queueLength,
    patienceMs: config.tiles.deadlineMs,
    memoryBytes: config.render.memoryBytes,
    retry: true,
    log,
  });
}
