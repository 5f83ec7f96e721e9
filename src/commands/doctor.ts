import type { Command } from "commander";
import { inTime } from "../in-time.js";
import { programName } from "../program-name.js";
import { bad, type Check } from "./check.js";
import { checkCdn } from "./check-cdn.js";
import { checkClocks } from "./check-clocks.js";
import { checkDisk } from "./check-disk.js";
import { checkFiles } from "./check-files.js";
import { checkHosts } from "./check-hosts.js";
import { checkRaster } from "./check-raster.js";
import { checkRedis } from "./check-redis.js";
import { checkData, checkMetrics, checkNative, checkNode, checkPlugins, checkPostgres } from "./checks.js";
import { type CommandEnvironment, CommandError, configOf, print } from "./environment.js";
import { table } from "./table.js";

/** For each check, so that what hangs is told, too. */
const checkMs = 60_000;
/** For the other checks, and for what is printed. */
const endMs = 60_000;

/** What a check found, or that it took too long. */
async function found(name: string, check: Promise<Check | Check[]>): Promise<Check[]> {
  const all = await inTime(check, checkMs, () => {
    // What hangs would keep the process.
    setTimeout(() => process.exit(), endMs).unref();
    return bad(name, `no answer within ${checkMs / 1_000} s`, "look whether it hangs");
  });
  return [all].flat();
}

/** mapwright doctor */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("doctor")
    .description("check what the server needs, with advice on each problem")
    .option("--json", "as a JSON array")
    .addHelpText("after", `\nExamples:\n  $ ${programName()} doctor\n  $ ${programName()} doctor --json`)
    .action(async (options: { json?: boolean }, command: Command) => {
      const config = configOf(env, command);
      const checks: Check[] = (
        await Promise.all([
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
        ])
      ).flat();
      if (options.json) print(env, JSON.stringify(checks, null, 2));
      else {
        const rows = checks.map(({ name, ok, found, advice }) => [
          ok ? (advice === undefined ? "ok" : "note") : "PROBLEM",
          name,
          advice === undefined ? found : `${found} - ${advice}`,
        ]);
        print(env, table(["", "CHECK", "FOUND"], rows));
      }
      const problems = checks.filter((check) => !check.ok).length;
      if (problems > 0) throw new CommandError(problems === 1 ? "One problem." : `${problems} problems.`);
    });
}
