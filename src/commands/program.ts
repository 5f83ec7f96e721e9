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
import * as help from "./help.js";
import { Interrupted } from "./interrupt.js";
import * as layer from "./layer.js";
import * as map from "./map.js";
import { closedStatus, OutputClosed } from "./output.js";
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
      // `runProgram` tells of errors.
      outputError: () => undefined,
    })
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
    help,
  ])
    register(program, env);
  return program;
}

/** Commands that run until they are ended have no result. */
const endless: ReadonlySet<string> = new Set(["serve"]);

/** Every command takes `--json`, for its result and for errors. */
function takeJson(command: Command): void {
  for (const one of command.commands) takeJson(one);
  if (command.commands.length > 0 || endless.has(command.name())) return;
  if (!command.options.some(({ long }) => long === "--json"))
    command.option("--json", "the result as JSON on standard output, errors as JSON on standard error");
}

/**
 * Runs one command line.
 * @param args without the program's own name
 * @returns the exit status: 0 success, 1 failure, 2 wrong usage, 130 or 143 interrupted, 141 nobody reads the output
 */
export async function runProgram(
  program: Command,
  env: CommandEnvironment,
  args: readonly string[],
): Promise<number> {
  const end = args.indexOf("--");
  const isJson = (end === -1 ? args : args.slice(0, end)).includes("--json");
  const tell = (error: unknown, message: string, hint = ""): void => {
    if (!isJson) {
      say(env, `error: ${message}${hint}`);
      return;
    }
    const isUsage = error instanceof UsageError || error instanceof CommanderError;
    const { code = isUsage ? "usage" : "failed", data = {} } = error instanceof Failure ? error : {};
    say(env, JSON.stringify({ error: { code, message, data } }));
  };
  takeJson(program);
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      // --help and --version end with 0; where a subcommand is missing, the help was printed.
      if (error.exitCode === 0) return 0;
      if (error.code !== "commander.help")
        tell(error, error.message.replace(/^error: /, ""), "\n(see --help)");
      return 2;
    }
    if (error instanceof UsageError) {
      tell(error, error.message);
      return 2;
    }
    if (error instanceof OutputClosed) return closedStatus;
    if (error instanceof Interrupted) return error.status;
    tell(error, messageOf(error));
    return 1;
  }
}

function messageOf(error: unknown): string {
  if (error instanceof ConfigError)
    return `${error.message}\nAll settings, and how they are written: mapwright help settings`;
  if (error instanceof Failure || error instanceof CommandError) return error.message;
  return reasonOf(error);
}
