import { type Command, Option } from "commander";
import {
  addAccessKey,
  deleteAccessKey,
  isKeyName,
  type KeyRights,
  keyRights,
  listAccessKeys,
  timeToCome,
} from "../access/access-keys.js";
import { projectId } from "../catalog/projects.js";
import { programName } from "../program-name.js";
import {
  type CommandEnvironment,
  CommandError,
  isJson,
  print,
  propagateChange,
  report,
  UsageError,
  withServices,
} from "./environment.js";
import { findLayer, findMap } from "./find-map.js";
import { table } from "./table.js";

interface AddOptions {
  readonly project: string;
  readonly rights: KeyRights;
  readonly map?: string;
  readonly layer?: string;
  readonly expires?: string;
}

/** mapwright key add | list | remove */
export function register(program: Command, env: CommandEnvironment): void {
  const key = program.command("key").description("make, list and remove keys that last, for programs");

  key
    .command("add")
    .description("make a key, and print it: it is shown this once")
    .argument("<name>", "what it is for")
    .requiredOption("--project <code>", "the project")
    .addOption(
      new Option("--rights <rights>", "what it may do").choices(Object.keys(keyRights)).default("read"),
    )
    .option("--map <code>", "only on this map")
    .option("--layer <code>", "only on this layer of the map")
    .option("--expires <time>", "when it ends, such as 2027-01-31; default: never")
    .addHelpText(
      "after",
      `
Programs send it as a token (X-Token), as the password of HTTP Basic with any user, or, if it only reads, as key=… in addresses of tiles.

Examples:
  $ ${programName()} key add "QGIS of the office" --project city
  $ ${programName()} key add sensors --project city --map roads --layer counts --rights edit --expires 2027-12-31`,
    )
    .action(async (name: string, options: AddOptions, command: Command) => {
      const { project, rights, map, layer } = options;
      if (layer !== undefined && map === undefined)
        throw new UsageError("--layer needs --map: layers are named within their map.");
      if (!isKeyName(name))
        throw new UsageError("A name has 1 to 200 characters, and no control characters.");
      const endsAt = timeToCome(options.expires);
      if (endsAt === undefined) throw new UsageError("--expires takes a time to come, such as 2027-01-31.");
      const made = await withServices(env, command, async (services) => {
        const { db } = services;
        const found = map === undefined ? undefined : await findMap(db, project, map);
        const layerId = found && layer !== undefined ? findLayer(found, layer).id : null;
        const place = { mapId: found?.id ?? null, layerId };
        const id = await projectId(db, project);
        const made = await addAccessKey(db, id, { name, rights, endsAt, by: "", ...place });
        await propagateChange(services);
        return made;
      });
      // What is shown this once can be caught by a script.
      if (isJson(command)) print(env, JSON.stringify({ ...made, name, rights, project }));
      else print(env, made.key);
    });

  key
    .command("list")
    .description("list the keys of a project, without themselves")
    .requiredOption("--project <code>", "the project")
    .addHelpText("after", `\nExamples:\n  $ ${programName()} key list --project city`)
    .action(async ({ project }: { project: string }, command: Command) => {
      const keys = await withServices(env, command, async ({ db }) =>
        listAccessKeys(db, await projectId(db, project)),
      );
      if (isJson(command)) return print(env, JSON.stringify(keys, null, 2));
      const rows = keys.map(({ id, name, rights, map, layer, expires, used, created_by }) => [
        String(id),
        name,
        rights,
        [map ?? "all maps", layer].filter(Boolean).join("/"),
        expires?.toISOString() ?? "never",
        used?.toISOString() ?? "not yet",
        created_by || "the operator",
      ]);
      print(env, table(["ID", "NAME", "RIGHTS", "ON", "EXPIRES", "USED", "MADE BY"], rows));
    });

  key
    .command("remove")
    .description("end a key")
    .argument("<id>", "its id, as the list has it")
    .requiredOption("--project <code>", "the project")
    .addHelpText("after", `\nExamples:\n  $ ${programName()} key remove 12 --project city`)
    .action(async (id: string, { project }: { project: string }, command: Command) => {
      await withServices(env, command, async (services) => {
        const { db } = services;
        const isThere =
          /^\d{1,9}$/.test(id) && (await deleteAccessKey(db, await projectId(db, project), Number(id)));
        if (!isThere) throw new CommandError(`There is no key ${id} in ${project}.`);
        await propagateChange(services);
      });
      report(env, command, {
        message: `The key ${id} has ended.`,
        value: { id: Number(id), project, removed: true },
      });
    });
}
