import type { Command } from "commander";
import { programName } from "../program-name.js";
import type { Check } from "./check.js";
import { checkFiles } from "./check-files.js";
import { checkHosts } from "./check-hosts.js";
import { checkRaster } from "./check-raster.js";
import {
  checkCdn,
  checkData,
  checkMetrics,
  checkNative,
  checkNode,
  checkPlugins,
  checkPostgres,
  checkRedis,
} from "./checks.js";
import { type CommandEnvironment, CommandError, configOf, print } from "./environment.js";
import { table } from "./table.js";

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
          checkHosts(config.databaseUrl),
          checkPostgres(config.databaseUrl),
          checkRedis(config.redisUrl),
          config.tilesRedisUrl === "" ? [] : checkRedis(config.tilesRedisUrl, true),
          checkNative(),
          checkPlugins(config.visualPlugins),
          checkData(config.dataDir),
          checkFiles(config),
          checkRaster(config),
          checkMetrics(config),
          checkCdn(config),
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
