import type { Command } from "commander";
import { deleterOf } from "../catalog/bin.js";
import { checkText } from "../catalog/codes.js";
import { changeMap, createMap, deleteMap, findMapId, listMaps, setPublication } from "../catalog/maps.js";
import { projectId } from "../catalog/projects.js";
import { programName } from "../program-name.js";
import { confirm, yesOption } from "./confirm.js";
import {
  type CommandEnvironment,
  configOf,
  print,
  propagateChange,
  report,
  withServices,
} from "./environment.js";
import { removeContents } from "./remove-contents.js";
import { table } from "./table.js";

/** mapwright map create | list | rename | publish | unpublish | group | ungroup | delete */
export function register(program: Command, env: CommandEnvironment): void {
  const map = program.command("map").description("create, list, rename, publish, group and delete maps");

  map
    .command("create")
    .description("create an empty map, which everybody may see")
    .argument("<project>", "code of the project")
    .argument("<map>", "1 to 64 Latin letters, digits, _ and -")
    .option("--name <name>", "title", "")
    .option("--unpublished", "only users with the right to read it may see it")
    .option("--group-layers", "it is published as one layer")
    .addHelpText("after", `\nExample:\n  $ ${programName()} map create city roads --name "Our roads"`)
    .action(
      async (
        project: string,
        code: string,
        options: { name: string; unpublished?: boolean; groupLayers?: boolean },
        command: Command,
      ) => {
        const groupLayers = options.groupLayers ? 1 : 0;
        const name = { name: checkText(options.name, "--name"), localized: false, names: {} };
        await withServices(env, command, async (services) => {
          const { db } = services;
          await createMap(db, await projectId(db, project), {
            code,
            name,
            published: !options.unpublished,
            groupLayers,
          });
          await propagateChange(services);
        });
        report(env, command, {
          message: `Map ${project}/${code} was created.`,
          value: {
            project,
            map: code,
            has_publication: !options.unpublished,
            group_layers: groupLayers,
          },
        });
      },
    );

  map
    .command("list")
    .description("list a project's maps")
    .argument("<project>", "code of the project")
    .option("--json", "as a JSON array")
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} map list city\n  $ ${programName()} map list city --json`,
    )
    .action(async (project: string, options: { json?: boolean }, command: Command) => {
      const maps = await withServices(env, command, async ({ db }) =>
        listMaps(db, await projectId(db, project)),
      );
      if (options.json) return print(env, JSON.stringify(maps, null, 2));
      const rows = maps.map((row) => [
        String(row.id),
        row.code,
        row.has_publication ? "yes" : "no",
        row.group_layers === 1 ? "yes" : "no",
        row.name,
      ]);
      print(env, table(["ID", "CODE", "PUBLISHED", "GROUPED", "NAME"], rows));
    });

  map
    .command("rename")
    .description("give a map another code; its addresses change with it")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .argument("<code>", "the new code")
    .addHelpText("after", `\nExample:\n  $ ${programName()} map rename city roads streets`)
    .action(async (project: string, map: string, code: string, _options: unknown, command: Command) => {
      await withServices(env, command, async (services) => {
        const { db } = services;
        await changeMap(db, await findMapId(db, await projectId(db, project), map), { code });
        await propagateChange(services);
      });
      report(env, command, {
        message: `Map ${project}/${map} is ${project}/${code} now.`,
        value: { project, map: code, was: map },
      });
    });

  map
    .command("delete")
    .description("delete a map with its layers and objects")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .option(...yesOption)
    .addHelpText("after", `\nExample:\n  $ ${programName()} map delete city roads`)
    .action(async (project: string, code: string, options: { yes?: boolean }, command: Command) => {
      const config = configOf(env, command);
      const question = `Delete the map ${project}/${code} with its layers and objects?`;
      await confirm(env, question, options.yes, config.bin.days);
      await withServices(env, command, async (services) => {
        const { db } = services;
        await deleteMap(db, await findMapId(db, await projectId(db, project), code), {
          by: deleterOf(config),
        });
        await propagateChange(services);
        report(env, command, {
          message: `Map ${project}/${code} was deleted.`,
          value: { project, map: code, deleted: true },
        });
        await removeContents(env, services);
      });
    });

  const publication = (name: string, published: boolean, description: string, done: string) =>
    map
      .command(name)
      .description(description)
      .argument("<project>", "code of the project")
      .argument("<map>", "code of the map")
      .addHelpText("after", `\nExample:\n  $ ${programName()} map ${name} city roads`)
      .action(async (project: string, code: string, _options: unknown, command: Command) => {
        await withServices(env, command, async (services) => {
          const { db } = services;
          await setPublication(db, await projectId(db, project), code, published);
          await propagateChange(services);
        });
        report(env, command, {
          message: `Map ${project}/${code} ${done}.`,
          value: { project, map: code, has_publication: published },
        });
      });
  publication("publish", true, "show a map to everybody", "is published");
  publication(
    "unpublish",
    false,
    "show a map only to users with the right to read it",
    "is no longer published",
  );

  const grouping = (name: string, groupLayers: 0 | 1, description: string, done: string) =>
    map
      .command(name)
      .description(description)
      .argument("<project>", "code of the project")
      .argument("<map>", "code of the map")
      .addHelpText("after", `\nExample:\n  $ ${programName()} map ${name} city roads`)
      .action(async (project: string, code: string, _options: unknown, command: Command) => {
        await withServices(env, command, async (services) => {
          const { db } = services;
          const id = await findMapId(db, await projectId(db, project), code);
          await changeMap(db, id, { groupLayers });
          await propagateChange(services);
        });
        report(env, command, {
          message: `Map ${project}/${code} ${done}.`,
          value: { project, map: code, group_layers: groupLayers },
        });
      });
  grouping("group", 1, "publish a map as one layer", "is published as one layer");
  grouping("ungroup", 0, "publish a map with its layers and folders", "is published with its layers");
}
