import type { Command } from "commander";
import { parseRights, setGrant } from "../access/grants.js";
import { loadProject } from "../catalog/load.js";
import { programName } from "../program-name.js";
import { type CommandEnvironment, propagateChange, report, UsageError, withServices } from "./environment.js";
import { findLayer, findMap } from "./find-map.js";

interface Options {
  readonly project: string;
  readonly map?: string;
  readonly layer?: string;
  readonly rights: string;
}

/** mapwright grant */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("grant")
    .description("set the rights of a user, or of the public, on a project, a map or a layer")
    .argument("<login>", 'a login of the project, or "public"')
    .requiredOption("--project <code>", "the project")
    .option("--map <code>", "only on this map")
    .option("--layer <code>", "only on this layer of the map")
    .requiredOption("--rights <list>", "read,edit,structure,admin in any combination, none, or default")
    .addHelpText(
      "after",
      `
A user's own grant replaces the role's rights where it applies; the most specific grant counts. edit, structure and
admin include read. \`--rights default\` removes a grant.

Examples:
  $ ${programName()} grant anna --project city --map roads --rights read,edit
  $ ${programName()} grant public --project city --map roads --layer pipes --rights none
  $ ${programName()} grant anna --project city --map roads --rights default`,
    )
    .action(async (login: string, options: Options, command: Command) => {
      if (options.layer !== undefined && options.map === undefined) {
        throw new UsageError("--layer needs --map: layers are named within their map.");
      }
      const rights = options.rights === "default" ? undefined : rightsOf(options.rights);
      const { project, map, layer } = options;
      const target = { project, map, layer, login: login === "public" ? null : login };
      const inVain = await withServices(env, command, async (services) => {
        const found = map === undefined ? undefined : await findMap(services.db, project, map);
        if (found && layer !== undefined) findLayer(found, layer);
        await setGrant(services.db, target, rights);
        await propagateChange(services);
        if (rights === undefined) return undefined;
        const { members } = found?.project ?? (await loadProject(services.db, project))!;
        if (login !== "public")
          return [...members.values()].some((member) => member.login === login && member.role === "admin")
            ? "Administrators may do everything: it counts when the role is another one."
            : undefined;
        return rights !== 0 && found?.hasPublication === false
          ? `The map is not published: only users see it before \`${programName()} map publish ${project} ${map}\`.`
          : undefined;
      });
      const place = [project, map, layer].filter((part) => part !== undefined).join("/");
      report(env, command, {
        message: [`${login} has rights "${options.rights}" on ${place}.`, inVain].join(" ").trimEnd(),
        value: {
          ...{ login, project, map: map ?? null, layer: layer ?? null, rights: options.rights },
          has_effect: inVain === undefined,
        },
      });
    });
}

function rightsOf(text: string): number {
  try {
    return parseRights(text);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
