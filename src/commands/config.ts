import type { Command } from "commander";
import type { Config } from "../config.js";
import { programName } from "../program-name.js";
import { loadPlugins } from "../visual/plugins.js";
import {
  type CommandEnvironment,
  CommandError,
  configOf,
  installationOf,
  isJson,
  print,
  report,
} from "./environment.js";

/** mapwright config print | check | admin-url */
export function register(program: Command, env: CommandEnvironment): void {
  const config = program.command("config").description("show and check the configuration");

  config
    .command("print")
    .description("the values in effect, as JSON")
    .option("--show-secrets", "with the passwords in addresses, and tokens")
    .addHelpText(
      "after",
      `
Flags override the environment (MAPWRIGHT_…, DATABASE_URL, REDIS_URL), the environment overrides the file
(--config or MAPWRIGHT_CONFIG), the file overrides the defaults. The output can be used as such a file.

Example:
  $ ${programName()} config print > mapwright.json`,
    )
    .action((options: { showSecrets?: boolean }, command: Command) => {
      const values = configOf(env, command);
      print(env, JSON.stringify(options.showSecrets ? values : masked(values), null, 2));
    });

  config
    .command("admin-url")
    .description("the address of the private PostgreSQL for its administrator, while the server runs")
    .addHelpText(
      "after",
      "\nIts role may do everything in that PostgreSQL: the server itself uses another one.\n\n" +
        `Example:\n  $ psql "$(${programName()} config admin-url)" -c 'CREATE DATABASE restored'`,
    )
    .action((_options: unknown, command: Command) => {
      const { config, local } = installationOf(env, command);
      const url = local?.superuserUrl;
      if (url === undefined)
        throw new CommandError(
          `No server runs with a private PostgreSQL in the folder ${config.dataDir}: is \`npm start\` running? ` +
            "The address of a PostgreSQL of your own is known to who administers it.",
        );
      print(env, isJson(command) ? JSON.stringify({ url }) : url);
    });

  config
    .command("check")
    .description("check the configuration; each problem names the key and the expected form")
    .addHelpText("after", `\nExample:\n  $ ${programName()} --config mapwright.json config check`)
    .action(async (_options: unknown, command: Command) => {
      const { problems } = await loadPlugins(configOf(env, command).visualPlugins);
      if (problems.length > 0)
        throw new CommandError(
          problems.map(({ entry, reason }) => `visualPlugins: ${entry}: ${reason}`).join("\n"),
        );
      report(env, command, { message: "The configuration is valid.", value: { valid: true } });
    });
}

/** The configuration without passwords in its addresses, and without tokens. */
function masked(config: Config): Config {
  return {
    ...config,
    databaseUrl: maskUrl(config.databaseUrl),
    databaseDirectUrl: maskUrl(config.databaseDirectUrl),
    redisUrl: maskUrl(config.redisUrl),
    ...(config.tilesRedisUrl !== "" && { tilesRedisUrl: maskUrl(config.tilesRedisUrl) }),
    edge: { ...config.edge, urls: config.edge.urls.map(maskUrl), token: maskToken(config.edge.token) },
    metricsToken: maskToken(config.metricsToken),
  };
}

const maskToken = (token: string): string => (token === "" ? "" : "*".repeat(16));

const maskUrl = (url: string): string =>
  url.replace(/^([^:]+:\/\/[^/?#]*?:)[^/?#]*@/, "$1***@").replace(/([?&]password=)[^&#]*/gi, "$1***");
