import { type Command, Option } from "commander";
import {
  accountOf,
  accountsOf,
  addMember,
  findMember,
  listAccounts,
  projectsOf,
  removeMember,
  setPassword,
} from "../access/accounts.js";
import { setOperator } from "../access/operators.js";
import { closeSessionsOf } from "../access/sessions.js";
import { projectId } from "../catalog/projects.js";
import type { Role } from "../catalog/state.js";
import { failed } from "../errors.js";
import { programName } from "../program-name.js";
import { confirm, yesOption } from "./confirm.js";
import {
  type CommandEnvironment,
  type CommandServices,
  isJson,
  print,
  propagateChange,
  report,
  say,
  withServices,
} from "./environment.js";
import { readPassword } from "./password.js";
import { table } from "./table.js";

/** mapwright user add | list | password | operator | remove */
export function register(program: Command, env: CommandEnvironment): void {
  const user = program
    .command("user")
    .description("add, list and remove users, change their passwords, and name operators");

  user
    .command("add")
    .description(
      "give a login a role in a project; a new one gets a password, one that the project has keeps its own",
    )
    .argument("<login>")
    .requiredOption("--project <code>", "the project")
    .addOption(
      new Option("--role <role>", "role in the project; a new user's is viewer without it").choices([
        "admin",
        "editor",
        "viewer",
      ]),
    )
    .option(
      "--existing [project]",
      "the account of that login in another project, with its password; which, if there are several",
    )
    .addHelpText(
      "after",
      `
A login belongs to its project: the same in another project is another user, with a password of its own, unless --existing
gives one account roles in both. The password is asked for at a terminal, else read from standard input (its first line). It has at least 8 characters,
and is not the login.

Examples:
  $ ${programName()} user add anna --project city --role admin
  $ ${programName()} user add script --project city --role editor < password.txt
  $ ${programName()} user add anna --existing city --project park`,
    )
    .action(async (login: string, options: AddOptions, command: Command) => {
      await withServices(env, command, async (services) => {
        const { db } = services;
        const project = await projectId(db, options.project);
        const { existing } = options;
        const shared = existing && (await accountOf(db, login, existing === true ? undefined : existing));
        const known = await findMember(db, project, login);
        if (known && options.role === undefined && (!shared || shared.id === known.id))
          throw failed(
            "invalid_value",
            `${login} is a user of ${options.project} already: --role changes the role, "user password" the password.`,
          );
        const role = options.role ?? "viewer";
        const others = known || shared ? [] : await accountsOf(db, login);
        if (others.length > 0 && !isJson(command))
          say(
            env,
            `A new user, apart from ${login} of ${projectsOf(others)}, whose account --existing would give the role.`,
          );
        const password = known || shared ? undefined : await readPassword(env, login);
        const { created } = await addMember(db, {
          login,
          projectId: project,
          role,
          ...(password === undefined ? {} : { password }),
          ...(shared ? { accountId: shared.id } : {}),
        });
        await propagateChange(services);
        const note = created
          ? ""
          : known
            ? " The user was there already and keeps its password."
            : ` It is the same account and password as in ${projectsOf(shared ? [shared] : [])}.`;
        report(env, command, {
          message: `${login} is ${role} of ${options.project}.${note}`,
          value: { login, project: options.project, role, created },
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
      `\nExamples:\n  $ ${programName()} user list\n  $ ${programName()} user list --project city --json`,
    )
    .action(async (options: { project?: string; json?: boolean }, command: Command) => {
      const users = await withServices(env, command, async ({ db }) =>
        listAccounts(db, options.project === undefined ? undefined : await projectId(db, options.project)),
      );
      if (options.json) return print(env, JSON.stringify(users, null, 2));
      const rows = users.map(({ login, project, role, account }) => [
        login,
        project ?? "-",
        role ?? "-",
        String(account),
      ]);
      print(env, table(["LOGIN", "PROJECT", "ROLE", "ACCOUNT"], rows));
    });

  user
    .command("password")
    .description("give a user a new password and end the user's sessions")
    .argument("<login>")
    .option("--project <code>", "a project of the user; needed when several have users of that login")
    .addHelpText(
      "after",
      `
An account with roles in several projects has the new password in all of them.

Examples:
  $ ${programName()} user password anna
  $ ${programName()} user password anna --project city < password.txt`,
    )
    .action(async (login: string, options: { project?: string }, command: Command) => {
      await withServices(env, command, async (services) => {
        const account = await accountOf(services.db, login, options.project);
        await setPassword(services.db, account, await readPassword(env, login));
        await endSessions(env, services, account.id);
        const { projects } = account;
        const where = projects.length > 1 ? `, in all of its projects: ${projects.join(", ")}` : "";
        report(env, command, { message: `${login} has a new password${where}.`, value: { login, projects } });
      });
    });

  user
    .command("operator")
    .description("let a user administer the installation in the console, or no longer")
    .argument("<login>")
    .option("--project <code>", "a project of the user; needed when several have users of that login")
    .option("--off", "no longer")
    .addHelpText(
      "after",
      `
An operator creates projects, sets what they may take of the disks, and sees how the installation is. What is in a project, and
who is in it, is its administrators'. Only this command makes operators.

Examples:
  $ ${programName()} user operator anna --project city
  $ ${programName()} user operator anna --off`,
    )
    .action(async (login: string, options: { project?: string; off?: boolean }, command: Command) => {
      const isOne = options.off !== true;
      await withServices(env, command, async ({ db }) => {
        const account = await accountOf(db, login, options.project);
        await setOperator(db, account.id, isOne);
        report(env, command, {
          message: `${login} is ${isOne ? "an operator" : "no operator"} of the installation.`,
          value: { login, projects: account.projects, operator: isOne },
        });
      });
    });

  user
    .command("remove")
    .description("remove a user from a project, or altogether; an account goes with its last project")
    .argument("<login>")
    .option("--project <code>", "only from this project")
    .option(...yesOption)
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} user remove anna --project city\n  $ ${programName()} user remove anna --yes`,
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

interface AddOptions {
  readonly project: string;
  readonly role?: Role;
  /** true = the only account. */
  readonly existing?: string | true;
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
