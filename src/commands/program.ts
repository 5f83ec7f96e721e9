import { Command, CommanderError } from "commander";
import { ConfigError } from "../config.js";
import { Failure } from "../errors.js";
import { programVersion } from "../version.js";
import * as cache from "./cache.js";
import * as config from "./config.js";
import * as doctor from "./doctor.js";
import { type CommandEnvironment, CommandError, reasonOf, say, UsageError } from "./environment.js";
import * as exportCommand from "./export.js";
import * as grant from "./grant.js";
import { Interrupted } from "./interrupt.js";
import * as layer from "./layer.js";
import * as map from "./map.js";
import * as project from "./project.js";
import * as session from "./session.js";
import * as user from "./user.js";

export type { CommandEnvironment } from "./environment.js";

/** The command `mapwright` with its subcommands, but for `serve` and `import`, which `main.ts` adds. */
export function buildProgram(env: CommandEnvironment): Command {
  const program = new Command("mapwright")
    .description("Map tiles and geodata: the server and its administration")
    .version(programVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void env.stdout.write(text),
      writeErr: (text) => void env.stderr.write(text),
    })
    .showHelpAfterError("(see --help)")
    // With the usage that a command gives itself: arguments may be left out in front.
    .configureHelp({
      subcommandTerm: (command) =>
        `${command.name()} ${command.usage().replace("[options] [command]", "")}`.trim(),
    })
    .option("--config <file>", "configuration file (JSON)")
    .option("--database-url <url>", "address of PostgreSQL, overrides the configuration")
    .option("--redis-url <url>", "address of Redis, overrides the configuration")
    .option("--data-dir <folder>", "data folder, overrides the configuration")
    .option("--log-level <level>", "fatal, error, warn, info, debug, trace or silent")
    .addHelpText(
      "after",
      `
Examples:
  $ mapwright project create city --languages ru,en
  $ mapwright user add anna --project city --role admin
  $ mapwright doctor

Exit status: 0 success, 1 failure, 2 wrong usage.`,
    );
  for (const { register } of [
    project,
    user,
    grant,
    map,
    layer,
    session,
    exportCommand,
    cache,
    config,
    doctor,
  ])
    register(program, env);
  return program;
}

/**
 * Runs one command line.
 * @param args without the program's own name
 * @returns the exit status: 0 success, 1 failure, 2 wrong usage, 130 or 143 interrupted
 */
export async function runProgram(
  program: Command,
  env: CommandEnvironment,
  args: readonly string[],
): Promise<number> {
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      // --help and --version end with 0. Commander has printed the text or the error.
      return error.exitCode === 0 ? 0 : 2;
    }
    if (error instanceof UsageError) {
      say(env, `error: ${error.message}`);
      return 2;
    }
    if (error instanceof Interrupted) return error.status;
    say(env, `error: ${messageOf(error)}`);
    return 1;
  }
}

function messageOf(error: unknown): string {
  if (error instanceof Failure || error instanceof ConfigError || error instanceof CommandError)
    return error.message;
  return reasonOf(error);
}
