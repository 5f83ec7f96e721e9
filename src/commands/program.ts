import { Command, CommanderError } from "commander";
import { ConfigError } from "../config.js";
import { Failure, reasonOf } from "../errors.js";
import { programName } from "../program-name.js";
import { programBuild } from "../version.js";
import { type CommandEnvironment, CommandError, say, UsageError } from "./environment.js";
import { Interrupted } from "./interrupt.js";
import { closedStatus, OutputClosed } from "./output.js";

export type { CommandEnvironment } from "./environment.js";

interface CommandModule {
  register(program: Command, env: CommandEnvironment): void;
}

/** By name. Loading all of them takes longer than what most of them do. */
const modules: Readonly<Record<string, () => Promise<CommandModule>>> = {
  project: () => import("./project.js"),
  user: () => import("./user.js"),
  grant: () => import("./grant.js"),
  key: () => import("./key.js"),
  map: () => import("./map.js"),
  layer: () => import("./layer.js"),
  bin: () => import("./bin.js"),
  session: () => import("./session.js"),
  export: () => import("./export.js"),
  cache: () => import("./cache.js"),
  config: () => import("./config.js"),
  doctor: () => import("./doctor.js"),
  help: () => import("./help.js"),
  serve: () => import("./serve.js"),
  upgrade: () => import("./upgrade.js"),
  backup: () => import("./backup.js"),
  restore: () => import("./backup.js"),
  import: () => import("./import.js"),
};

/** Options in front of the command's name. */
const globalOptions = (program: Command): Command =>
  program
    .option("--config <file>", "configuration file (JSON)")
    .option("--database-url <url>", "address of PostgreSQL, overrides the configuration")
    .option("--redis-url <url>", "address of Redis, overrides the configuration")
    .option("--data-dir <folder>", "data folder, overrides the configuration")
    .option("--log-level <level>", "fatal, error, warn, info, debug, trace or silent");

/** The command that these arguments name; undefined when there is none such. */
function nameIn(args: readonly string[]): string | undefined {
  const program = globalOptions(new Command())
    .exitOverride()
    .configureOutput({ outputError: () => undefined });
  try {
    const [name = ""] = program.parseOptions([...args]).operands;
    return Object.hasOwn(modules, name) ? name : undefined;
  } catch {
    // An option without its value, of which `runProgram` tells.
    return undefined;
  }
}

/** The modules that these arguments need: all, for help that tells of others. */
async function neededModules(args: readonly string[]): Promise<CommandModule[]> {
  const name = nameIn(args);
  const names = name === undefined || name === "help" ? Object.keys(modules) : [name];
  // Some have several commands.
  return [...new Set(await Promise.all(names.map((one) => modules[one]!())))];
}

/**
 * The command `mapwright` with its subcommands.
 * @param args what it is to be run with: with less than all subcommands where others are not needed
 */
export async function buildProgram(env: CommandEnvironment, args: readonly string[] = []): Promise<Command> {
  const program = globalOptions(new Command(programName()).version(programBuild()))
    .description("Map tiles and geodata: the server and its administration")
    .exitOverride()
    // One of our own is among the modules.
    .helpCommand(false)
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
    .addHelpText(
      "after",
      `
Examples:
  $ ${programName()} project create city --languages ru,en
  $ ${programName()} user add anna --project city --role admin
  $ ${programName()} doctor

Exit status: 0 success, 1 failure, 2 wrong usage.`,
    );
  for (const { register } of await neededModules(args)) register(program, env);
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
    return `${error.message}\nAll settings, and how they are written: ${programName()} help settings`;
  if (error instanceof Failure || error instanceof CommandError) return error.message;
  return reasonOf(error);
}
