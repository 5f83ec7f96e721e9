import { type Command, Option } from "commander";
import { findAccount } from "../access/accounts.js";
import { openSessions, type SessionOrigin } from "../access/sessions.js";
import { loadProject } from "../catalog/load.js";
import { failed, notFound } from "../errors.js";
import { type CommandEnvironment, isJson, print, say, withServices } from "./environment.js";

/** mapwright session open */
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
      '\nExample:\n  $ TOKEN=$(mapwright session open anna --project city)\n  $ curl -H "X-Token: $TOKEN" …',
    )
    .action(async (login: string, options: { project: string; origin: SessionOrigin }, command: Command) => {
      await withServices(env, command, async ({ db, config, redis }) => {
        const project = await loadProject(db, options.project);
        if (!project || project.hidden)
          throw failed("project_not_found", `There is no project "${options.project}".`);
        const account = await findAccount(db, login);
        if (!account || !project.members.has(account.id)) throw notFound(`user "${login}" in this project`);
        const { sessionIdleSeconds: idleSeconds, redisPrefix: prefix } = config;
        const sessions = openSessions(await redis(), { idleSeconds, prefix });
        const token = await sessions.open({
          accountId: account.id,
          login: account.login,
          projectId: project.id,
          origin: options.origin,
        });
        if (isJson(command)) return print(env, JSON.stringify({ token, idleSeconds }));
        print(env, token);
        say(env, `The session ends ${idleSeconds} s after its last use.`);
      });
    });
}
