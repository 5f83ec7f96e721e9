import type { Command } from "commander";
import { programName } from "../program-name.js";
import { bad, type Check } from "./check.js";
import { checkFiles } from "./check-files.js";
import { checkHosts } from "./check-hosts.js";
import { checkRaster } from "./check-raster.js";
import { checkRedis } from "./check-redis.js";
import {
  checkCdn,
  checkData,
  checkMetrics,
  checkNative,
  checkNode,
  checkPlugins,
  checkPostgres,
} from "./checks.js";
import { type CommandEnvironment, CommandError, configOf, print } from "./environment.js";
import { table } from "./table.js";

/** For each check, so that what hangs is told, too. */
const checkMs = 60_000;
/** For the other checks, and for what is printed. */
const endMs = 60_000;

/** What a check found, or that it took too long. */
async function inTime(name: string, check: Promise<Check | Check[]>): Promise<Check[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Check[]>((resolve) => {
    const found = `no answer within ${checkMs / 1_000} s`;
    timer = setTimeout(() => {
      resolve([bad(name, found, "look whether it hangs")]);
      // What hangs would keep the process.
      setTimeout(() => process.exit(), endMs).unref();
    }, checkMs);
  });
  try {
    return [await Promise.race([check, late])].flat();
  } finally {
    clearTimeout(timer);
  }
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
          inTime("PostgreSQL", checkHosts(config.databaseUrl)),
          inTime("PostgreSQL", checkPostgres(config.databaseUrl)),
          inTime("Redis", checkRedis(config)),
          inTime("libraries", checkNative()),
          inTime("plug-ins", checkPlugins(config.visualPlugins)),
          inTime("data folder", checkData(config.dataDir)),
          inTime("files", checkFiles(config)),
          inTime("raster layer", checkRaster(config)),
          checkMetrics(config),
          inTime("edge", checkCdn(config)),
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
