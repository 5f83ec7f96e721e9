import type { Config } from "../config.js";
import { inTime } from "../in-time.js";
import { bad, type Check } from "./check.js";
import { checkCdn } from "./check-cdn.js";
import { checkClocks } from "./check-clocks.js";
import { checkDisk } from "./check-disk.js";
import { checkFiles } from "./check-files.js";
import { checkHosts } from "./check-hosts.js";
import { checkRaster } from "./check-raster.js";
import { checkRedis } from "./check-redis.js";
import { checkData, checkMetrics, checkNative, checkNode, checkPlugins, checkPostgres } from "./checks.js";

/** What the server needs, checked side by side: for the command `doctor`, and for operators in the console. */

/** For each check, so that what hangs is told, too. */
const checkMs = 60_000;

/** @param events.hung called for each check that takes too long: what it has begun goes on */
export async function examine(
  config: Config,
  { hung }: { readonly hung?: () => void } = {},
): Promise<Check[]> {
  const found = async (name: string, check: Promise<Check | Check[]>): Promise<Check[]> => {
    const all = await inTime(check, checkMs, () => {
      hung?.();
      return bad(name, `no answer within ${checkMs / 1_000} s`, "look whether it hangs");
    });
    return [all].flat();
  };
  const checks = await Promise.all([
    checkNode(),
    found("PostgreSQL", checkHosts(config.databaseDirectUrl || config.databaseUrl)),
    found("PostgreSQL", checkPostgres(config.databaseUrl, config.databaseDirectUrl)),
    found("Redis", checkRedis(config)),
    found("libraries", checkNative()),
    found("plug-ins", checkPlugins(config.visualPlugins)),
    found("data folder", checkData(config.dataDir)),
    found("disk", checkDisk(config.dataDir)),
    found("clocks", checkClocks(config)),
    found("files", checkFiles(config)),
    found("raster layer", checkRaster(config)),
    checkMetrics(config),
    found("edge", checkCdn(config)),
  ]);
  return checks.flat();
}
