import { type Command, Option } from "commander";
import { AlreadyRunning } from "../local-services/lock.js";
import { createLog } from "../log.js";
import { programName } from "../program-name.js";
import { serve } from "../serve/serve.js";
import {
  type CommandEnvironment,
  CommandError,
  configOf,
  requireDatabase,
  say,
  unconfigured,
} from "./environment.js";
import { interruptible, isByTerminal } from "./interrupt.js";

interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
  readonly nodes?: string;
  readonly local?: boolean;
  readonly demo: boolean;
}

/** mapwright serve */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("serve")
    .description("run the server until Ctrl-C or SIGTERM")
    .option("--host <host>", "address to listen on (default 0.0.0.0)")
    .option("--port <port>", "port to listen on (default 8080)")
    .option("--nodes <count>", "node processes that share the port (default 1)")
    .option(
      "--local",
      "start a private PostgreSQL and Redis under the data folder, unless they are configured",
    )
    .addOption(new Option("--no-demo", "do not load the demo project into an empty installation"))
    .addHelpText(
      "after",
      `
Examples:
  $ ${programName()} serve --local
  $ DATABASE_URL=postgresql://maps@db/maps REDIS_URL=redis://cache:6379 ${programName()} serve --nodes 4`,
    )
    .action(async (flags: ServeFlags, command: Command) => {
      const config = configOf(env, command, { host: flags.host, port: flags.port, nodes: flags.nodes });
      const local = flags.local ? unconfigured(env, command) : { database: false, redis: false };
      if (!local.database) await requireDatabase(config);
      try {
        await interruptible((signal) =>
          serve({
            config,
            log: createLog(config.logLevel, "serve"),
            local,
            demo: flags.demo,
            say: (line) => say(env, line),
            signal,
            drains: () => !isByTerminal(signal),
          }),
        );
      } catch (error) {
        if (error instanceof AlreadyRunning)
          throw new CommandError(
            `${error.message} End it, or choose another folder (--data-dir, MAPWRIGHT_DATA_DIR).`,
          );
        throw error;
      }
    });
}
