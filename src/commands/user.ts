import { type Command, Option } from "commander";
import { addMember, findAccount, listAccounts, removeMember, setPassword } from "../access/accounts.js";
import { closeSessionsOf } from "../access/sessions.js";
import { projectId } from "../catalog/projects.js";
import type { Role } from "../catalog/state.js";
import { notFound } from "../errors.js";
import { confirm, yesOption } from "./confirm.js";
import {
  type CommandEnvironment,
  type CommandServices,
  print,
  propagateChange,
  report,
  say,
  withServices,
} from "./environment.js";
import { readPassword } from "./password.js";
import { table } from "./table.js";

/** mapwright user add | list | password | remove */
export function register(program: Command, env: CommandEnvironment): void {
  const user = program.command("user").description("add, list and remove users, and change their passwords");

  user
    .command("add")
    .description(
      "give a login a role in a project; a new login gets a password, an existing one keeps its own",
    )
    .argument("<login>")
    .requiredOption("--project <code>", "the project")
    .addOption(
      new Option("--role <role>", "role in the project")
        .choices(["admin", "editor", "viewer"])
        .default("viewer"),
    )
    .addHelpText(
      "after",
      `
The password is asked for at a terminal, else read from standard input (its first line). It has at least 8 characters,
and is not the login.

Examples:
  $ mapwright user add anna --project city --role admin
  $ mapwright user add script --project city --role editor < password.txt`,
    )
    .action(async (login: string, options: { project: string; role: Role }, command: Command) => {
      await withServices(env, command, async (services) => {
        const { db } = services;
        const project = await projectId(db, options.project);
        const known = await findAccount(db, login);
        const password = known ? undefined : await readPassword(env, login);
        const { created } = await addMember(db, {
          login,
          projectId: project,
          role: options.role,
          ...(password === undefined ? {} : { password }),
        });
        await propagateChange(services);
        const note = created ? "" : " The login existed already and keeps its password.";
        report(env, command, {
          message: `${login} is ${options.role} of ${options.project}.${note}`,
          value: { login, project: options.project, role: options.role, created },
        });
      });
    });

  user
    .command("list")
    .description("list users and their roles")
    .option("--project <code>", "only this project's")
    .option("--json", "as a JSON array")
    .addHelpText(
      "after",
      "\nExamples:\n  $ mapwright user list\n  $ mapwright user list --project city --json",
    )
    .action(async (options: { project?: string; json?: boolean }, command: Command) => {
      const users = await withServices(env, command, async ({ db }) =>
        listAccounts(db, options.project === undefined ? undefined : await projectId(db, options.project)),
      );
      if (options.json) return print(env, JSON.stringify(users, null, 2));
      const rows = users.map(({ login, project, role }) => [login, project ?? "-", role ?? "-"]);
      print(env, table(["LOGIN", "PROJECT", "ROLE"], rows));
    });

  user
    .command("password")
    .description("give a user a new password and end the user's sessions")
    .argument("<login>")
    .addHelpText(
      "after",
      "\nExamples:\n  $ mapwright user password anna\n  $ mapwright user password anna < password.txt",
    )
    .action(async (login: string, _options: unknown, command: Command) => {
      await withServices(env, command, async (services) => {
        if (!(await findAccount(services.db, login))) throw notFound(`user "${login}"`);
        const account = await setPassword(services.db, login, await readPassword(env, login));
        await endSessions(env, services, account.id);
        report(env, command, { message: `${login} has a new password.`, value: { login } });
      });
    });

  user
    .command("remove")
    .description("remove a user from a project, or altogether")
    .argument("<login>")
    .option("--project <code>", "only from this project")
    .option(...yesOption)
    .addHelpText(
      "after",
      "\nExamples:\n  $ mapwright user remove anna --project city\n  $ mapwright user remove anna --yes",
    )
    .action(async (login: string, options: { project?: string; yes?: boolean }, command: Command) => {
      const from = options.project === undefined ? "" : ` from ${options.project}`;
      await confirm(env, `Remove the user ${login}${from}?`, options.yes);
      await withServices(env, command, async (services) => {
        const { db } = services;
        const project = options.project === undefined ? undefined : await projectId(db, options.project);
        const account = await removeMember(db, login, project);
        await propagateChange(services);
        await endSessions(env, services, account.id);
        report(env, command, {
          message: `${login} was removed${from}.`,
          value: { login, project: options.project ?? null, removed: true },
        });
      });
    });
}

/** Ends the open sessions of a user. If that fails the change still holds: sessions also end when they are idle. */
async function endSessions(
  env: CommandEnvironment,
  services: CommandServices,
  accountId: number,
): Promise<void> {
  try {
    await closeSessionsOf(await services.redis(), services.config.redisPrefix, accountId);
  } catch (error) {
    say(env, `Sessions that are open could not be ended: ${(error as Error).message}`);
  }
}
