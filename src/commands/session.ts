import { type Command, Option } from "commander";
import { type Account, findMember, noUser } from "../access/accounts.js";
import { mayRead } from "../access/rights.js";
import { openSessions, type SessionOrigin } from "../access/sessions.js";
import { openTileKeys } from "../access/tile-keys.js";
import { withAddresses } from "../api/resources/tile-keys.js";
import { loadProject } from "../catalog/load.js";
import { noProject } from "../catalog/projects.js";
import type { ProjectState } from "../catalog/state.js";
import { systemClock } from "../clock.js";
import { forbidden } from "../errors.js";
import { programName } from "../program-name.js";
import {
  type CommandEnvironment,
  type CommandServices,
  isJson,
  print,
  say,
  UsageError,
  withServices,
} from "./environment.js";
import { findMap } from "./find-map.js";

/** mapwright session open | tile-key */
export function register(program: Command, env: CommandEnvironment): void {
  const session = program.command("session").description("open sessions without a password");

  session
    .command("open")
    .description("open a session for a user and print its token")
    .argument("<login>")
    .requiredOption("--project <code>", "the project")
    .addOption(
      new Option("--origin <origin>", "what the session counts as: GET authorized/ is true for api only")
        .choices(["console", "api"])
        .default("console"),
    )
    .addHelpText(
      "after",
      `\nExample:\n  $ TOKEN=$(${programName()} session open anna --project city)\n  $ curl -H "X-Token: $TOKEN" …`,
    )
    .action(async (login: string, options: { project: string; origin: SessionOrigin }, command: Command) => {
      await withServices(env, command, async (services) => {
        const project = await loadProject(services.db, options.project);
        if (!project || project.hidden) throw await noProject(services.db, options.project);
        const token = await openSession(services, project, login, options.origin);
        const { sessionIdleSeconds: idleSeconds } = services.config;
        if (isJson(command)) return print(env, JSON.stringify({ token, idleSeconds }));
        print(env, token);
        say(env, `The session ends ${idleSeconds} s after its last use.`);
      });
    });

  session
    .command("tile-key")
    .description(
      "open a session for a user and print the address of a map's tiles with a key of it, as for QGIS",
    )
    .argument("<login>")
    .requiredOption("--project <code>", "the project")
    .requiredOption("--map <code>", "the map")
    .option("--seconds <number>", "how long the key lives at most (default: tileKeySeconds)")
    .option("--base-url <url>", "public address of the server (default: baseUrl, else this machine)")
    .addHelpText(
      "after",
      "\nThe session ends when nobody asks for tiles by the key, as any other that is not used.\n\n" +
        `Examples:\n  $ ${programName()} session tile-key anna --project city --map main\n` +
        `  $ ${programName()} session tile-key anna --project city --map main --json | jq -r .tilejson`,
    )
    .action(async (login: string, options: KeyOptions, command: Command) => {
      const seconds = secondsOf(options.seconds);
      await withServices(env, command, async (services) => {
        const { config, redis } = services;
        const map = await findMap(services.db, options.project, options.map);
        const { project } = map;
        const account = await memberOf(services, project, login);
        if (!mayRead(map, { accountId: account.id, login, projectId: project.id }))
          throw forbidden(`${login} may not read this map.`);
        const token = await openSession(services, project, login, "console");
        const keys = openTileKeys(await redis(), {
          idleSeconds: config.sessionIdleSeconds,
          seconds: config.tileKeySeconds,
          prefix: config.redisPrefix,
          clock: systemClock,
        });
        const made = await keys.make(token, { accountId: account.id, mapId: map.id }, seconds);
        const value = withAddresses(made, options.baseUrl?.replace(/\/+$/, "") ?? addressOf(services), map);
        if (isJson(command)) return print(env, JSON.stringify(value));
        print(env, value.url);
        say(
          env,
          `It ends ${config.sessionIdleSeconds} s after its last use, and at ${value.expires} at the latest.`,
        );
      });
    });
}

interface KeyOptions {
  readonly project: string;
  readonly map: string;
  readonly seconds?: string;
  readonly baseUrl?: string;
}

/** @throws UsageError */
function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError("--seconds: must be a whole number from 1 on.");
  return Number(text);
}

/** The public address, as far as the configuration has it; else that of the server that runs. */
const addressOf = ({ config: { baseUrl, port }, serverUrl }: CommandServices): string =>
  /^https?:/.test(baseUrl) ? baseUrl : (serverUrl ?? `http://localhost:${port}${baseUrl}`);

/** @throws Failure not_found */
async function memberOf({ db }: CommandServices, project: ProjectState, login: string): Promise<Account> {
  const account = await findMember(db, project.id, login);
  if (!account) throw await noUser(db, login, project.id);
  return account;
}

/** @throws Failure not_found, busy */
async function openSession(
  services: CommandServices,
  project: ProjectState,
  login: string,
  origin: SessionOrigin,
): Promise<string> {
  const account = await memberOf(services, project, login);
  const { sessionIdleSeconds: idleSeconds, redisPrefix: prefix } = services.config;
  const sessions = openSessions(await services.redis(), { idleSeconds, prefix });
  return sessions.open({ accountId: account.id, login: account.login, projectId: project.id, origin });
}
