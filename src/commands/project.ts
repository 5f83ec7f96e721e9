import type { Command } from "commander";
import { createProject, deleteProject, listProjects } from "../catalog/projects.js";
import { removeAll } from "../catalog/removal.js";
import { type CommandEnvironment, print, say, withServices } from "./environment.js";
import { table } from "./table.js";

/** mapwright project create | list | delete */
export function register(program: Command, env: CommandEnvironment): void {
  const project = program.command("project").description("create, list and delete projects");

  project
    .command("create")
    .description("create a project")
    .argument("<code>", "1 to 64 Latin letters, digits, _ and -")
    .option("--name <name>", "title", "")
    .option("--languages <list>", "language codes separated by commas, the main one first", "en")
    .addHelpText("after", '\nExample:\n  $ mapwright project create city --name "Our city" --languages ru,en')
    .action(async (code: string, options: { name: string; languages: string }, command: Command) => {
      const languages = options.languages.split(",").map((language) => language.trim());
      await withServices(env, command, ({ db }) =>
        createProject(db, { code, name: options.name, languages }),
      );
      say(env, `Project ${code} was created. Next: mapwright user add LOGIN --project ${code} --role admin`);
    });

  project
    .command("list")
    .description("list the projects")
    .option("--json", "as a JSON array")
    .addHelpText("after", "\nExamples:\n  $ mapwright project list\n  $ mapwright project list --json")
    .action(async (options: { json?: boolean }, command: Command) => {
      const projects = await withServices(env, command, ({ db }) => listProjects(db));
      if (options.json) return print(env, JSON.stringify(projects, null, 2));
      const rows = projects.map(({ code, languages, maps, users, name }) => [
        code,
        languages.join(","),
        String(maps),
        String(users),
        name,
      ]);
      print(env, table(["CODE", "LANGUAGES", "MAPS", "USERS", "NAME"], rows));
    });

  project
    .command("delete")
    .description("delete a project with its maps, layers and objects")
    .argument("<code>")
    .addHelpText(
      "after",
      "\nExample:\n  $ mapwright project delete city\n\nThe project is gone at once and cannot be restored. Then the command removes its data; a running server does so\nif the command is interrupted.",
    )
    .action(async (code: string, _options: unknown, command: Command) => {
      await withServices(env, command, async ({ db }) => {
        await deleteProject(db, code);
        say(env, `Project ${code} was deleted.`);
        if (!(await removeAll(db)))
          say(env, "Some of its data are still in use; a running server removes them.");
      });
    });
}
