import type { Command } from "commander";
import { listMaps, setPublication } from "../catalog/maps.js";
import { projectId } from "../catalog/projects.js";
import { type CommandEnvironment, print, propagateChange, say, withServices } from "./environment.js";
import { table } from "./table.js";

/** mapwright map list | publish | unpublish */
export function register(program: Command, env: CommandEnvironment): void {
  const map = program.command("map").description("list, publish and unpublish maps");

  map
    .command("list")
    .description("list a project's maps")
    .argument("<project>", "code of the project")
    .option("--json", "as a JSON array")
    .addHelpText("after", "\nExamples:\n  $ mapwright map list city\n  $ mapwright map list city --json")
    .action(async (project: string, options: { json?: boolean }, command: Command) => {
      const maps = await withServices(env, command, async ({ db }) =>
        listMaps(db, await projectId(db, project)),
      );
      if (options.json) return print(env, JSON.stringify(maps, null, 2));
      const rows = maps.map((row) => [
        String(row.id),
        row.code,
        row.has_publication ? "yes" : "no",
        row.name,
      ]);
      print(env, table(["ID", "CODE", "PUBLISHED", "NAME"], rows));
    });

  const publication = (name: string, published: boolean, description: string, done: string) =>
    map
      .command(name)
      .description(description)
      .argument("<project>", "code of the project")
      .argument("<map>", "code of the map")
      .addHelpText("after", `\nExample:\n  $ mapwright map ${name} city roads`)
      .action(async (project: string, code: string, _options: unknown, command: Command) => {
        await withServices(env, command, async (services) => {
          const { db } = services;
          await setPublication(db, await projectId(db, project), code, published);
          await propagateChange(services);
        });
        say(env, `Map ${project}/${code} ${done}.`);
      });
  publication("publish", true, "show a map to everybody", "is published");
  publication(
    "unpublish",
    false,
    "show a map only to users with the right to read it",
    "is no longer published",
  );
}
