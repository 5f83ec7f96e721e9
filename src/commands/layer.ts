import type { Command } from "commander";
import { deleterOf } from "../catalog/bin.js";
import { deleteLayer } from "../catalog/layers.js";
import { isLayer, localName, type MapState } from "../catalog/state.js";
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
import { findLayer, findMap } from "./find-map.js";
import { removeContents } from "./remove-contents.js";
import { table } from "./table.js";

/** mapwright layer list | delete */
export function register(program: Command, env: CommandEnvironment): void {
  const layer = program.command("layer").description("list and delete the layers of a map");

  layer
    .command("list")
    .description("list a map's layers, in the order of its tree")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .option("--json", "as a JSON array")
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} layer list city roads\n  $ ${programName()} layer list city roads --json`,
    )
    .action(async (project: string, map: string, options: { json?: boolean }, command: Command) => {
      const layers = await withServices(env, command, async ({ db }) =>
        listed(await findMap(db, project, map)),
      );
      if (options.json) return print(env, JSON.stringify(layers, null, 2));
      const rows = layers.map(({ id, code, type, folder, name }) => [String(id), code, type, folder, name]);
      print(env, table(["ID", "CODE", "TYPE", "FOLDER", "NAME"], rows));
    });

  layer
    .command("delete")
    .description("delete a layer with its objects")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .argument("<layer>", "code of the layer")
    .option(...yesOption)
    .addHelpText("after", `\nExample:\n  $ ${programName()} layer delete city roads pipes`)
    .action(
      async (project: string, map: string, code: string, options: { yes?: boolean }, command: Command) => {
        const place = `${project}/${map}/${code}`;
        const config = configOf(env, command);
        await confirm(env, `Delete the layer ${place} with its objects?`, options.yes, config.bin.days);
        await withServices(env, command, async (services) => {
          const { db } = services;
          const found = await findMap(db, project, map);
          await deleteLayer(db, found.id, findLayer(found, code).id, deleterOf(config));
          await propagateChange(services);
          report(env, command, {
            message: `Layer ${place} was deleted.`,
            value: { project, map, layer: code, deleted: true },
          });
          await removeContents(env, services);
        });
      },
    );
}

/** The layers from the top of the tree to its bottom; `folder` has the codes of the folders, outermost first. */
function listed(map: MapState) {
  const main = map.project.languages[0];
  const found: { id: number; code: string; type: string; folder: string; name: string }[] = [];
  const add = (parent: number, folder: string) => {
    for (const node of map.children.get(parent) ?? []) {
      if (isLayer(node))
        found.push({
          id: node.id,
          code: node.code,
          type: node.type,
          folder,
          name: localName(node, main, main),
        });
      else add(node.id, folder === "" ? node.code : `${folder}/${node.code}`);
    }
  };
  add(0, "");
  return found;
}
