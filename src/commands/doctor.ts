import type { Command } from "commander";
import { examine } from "../doctor/doctor.js";
import { programName } from "../program-name.js";
import { type CommandEnvironment, CommandError, configOf, print } from "./environment.js";
import { table } from "./table.js";

/** For the other checks, and for what is printed. */
const endMs = 60_000;

/** mapwright doctor */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("doctor")
    .description("check what the server needs, with advice on each problem")
    .option("--json", "as a JSON array")
    .addHelpText("after", `\nExamples:\n  $ ${programName()} doctor\n  $ ${programName()} doctor --json`)
    .action(async (options: { json?: boolean }, command: Command) => {
      const checks = await examine(configOf(env, command), {
        // What hangs would keep the process.
        hung: () => setTimeout(() => process.exit(), endMs).unref(),
      });
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
