import type { Config } from "../config.js";
import type { HostAddress } from "../database-hosts.js";
import type { Log } from "../log.js";
import { addressOf, renderEnvironment } from "./environment.js";
import { importIsolation } from "./isolation.js";
import type { RenderMessages } from "./messages.js";
import { RetryingHost } from "./retrying-host.js";

export type RenderHost = RetryingHost<RenderMessages & Record<string, [unknown, unknown]>>;

/**
 * Fraction of a render's deadline that one SQL statement may take. A statement that times out fails only its own tile; a
 * render that overruns its deadline ends the host with all that it draws for others.
 */
const statementShare = 0.8;

/**
 * How many tasks the host is given at once, and how many of them of one project: more than Mapnik draws at once, so that
 * the next metatile is ready when one is done, even when maps of another project are being loaded.
 */
export const tasksAtOnce = (renders: number): { concurrency: number; mostOfOwner: number } => ({
  concurrency: renders + 4,
  mostOfOwner: renders + 2,
});

/**
 * Starts the child process with Mapnik.
 * @param pictures folder that the files of pictures lie in
 * @param address as it is when a process starts
 */
export function startRenderHost(
  config: Config,
  log: Log,
  pictures = "",
  address: () => HostAddress = () => addressOf(config),
): RenderHost {
  const maxWaitMs = config.tiles.deadlineMs;
  const environment = (renders: number) => () => ({
    ...importIsolation,
    // Of images, only those that an import of ours has made are opened, by Mapnik.
    GDAL_DISABLE_READDIR_ON_OPEN: "EMPTY_DIR",
    GDAL_PAM_ENABLED: "NO",
    GDAL_CACHEMAX: "64",
    ...renderEnvironment(address(), renders, {
      statementTimeoutMs: Math.floor(statementShare * config.tiles.deadlineMs),
      maxWaitMs,
    }),
    MAPWRIGHT_PICTURES: pictures,
    MAPWRIGHT_MAP_BYTES: String(config.render.mapBytes),
  });
  const { concurrency, memoryBytes } = config.render;
  return new RetryingHost(
    {
      name: "render",
      worker: "render",
      environment: environment(concurrency),
      hasSockets: true,
      ...tasksAtOnce(concurrency),
      queueLength: config.tiles.queueLength,
      maxWaitMs,
      memoryBytes,
      log,
    },
    { environment: environment(1) },
  );
}
