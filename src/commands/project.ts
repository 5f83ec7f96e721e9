import type { Command } from "commander";
import { createProject, deleteProject, listProjects, setBaseMap } from "../catalog/projects.js";
import type { BaseMap } from "../catalog/state.js";
import { readExternalSource, type SourceNames } from "../catalog/tile-layer-source.js";
import { didYouMean } from "../near-name.js";
import { programName } from "../program-name.js";
import { baseMapStyles } from "../tiles/base-map.js";
import { confirm, yesOption } from "./confirm.js";
import {
  type CommandEnvironment,
  print,
  propagateChange,
  report,
  UsageError,
  withServices,
} from "./environment.js";
import { removeContents } from "./remove-contents.js";
import { table } from "./table.js";

/** mapwright project create | list | base-map | delete */
export function register(program: Command, env: CommandEnvironment): void {
  const project = program.command("project").description("create, list, change and delete projects");

  project
    .command("create")
    .description("create a project")
    .argument("<code>", "1 to 64 Latin letters, digits, _ and -")
    .option("--name <name>", "title", "")
    .option("--languages <list>", "language codes separated by commas, the main one first", "en")
    .addHelpText(
      "after",
      `\nExample:\n  $ ${programName()} project create city --name "Our city" --languages ru,en`,
    )
    .action(async (code: string, options: { name: string; languages: string }, command: Command) => {
      const languages = options.languages.split(",").map((language) => language.trim());
      await withServices(env, command, ({ db }) =>
        createProject(db, { code, name: options.name, languages }),
      );
      report(env, command, {
        message: `Project ${code} was created. Next: ${programName()} user add LOGIN --project ${code} --role admin`,
        value: { project: code, name: options.name, languages },
      });
    });

  project
    .command("list")
    .description("list the projects")
    .option("--json", "as a JSON array")
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} project list\n  $ ${programName()} project list --json`,
    )
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
    .command("base-map")
    .description("set what is drawn below the maps of a project")
    .argument("<code>", "code of the project")
    .argument(
      "<base>",
      "builtin, builtin-muted, builtin-dark, none, or the address of a raster service: with {z}, {x}, {y} or {-y}, or of a WMS",
    )
    .option("--min-zoom <zoom>", "first zoom of the service")
    .option("--max-zoom <zoom>", "last zoom of the service; beyond it its images are enlarged")
    .option("--attribution <text>", "whom the maps name as its author", "")
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} project base-map city none\n  $ ${programName()} project base-map city builtin-dark\n  $ ${programName()} project base-map city 'https://tile.example.org/{z}/{x}/{y}.png' --max-zoom 19\n\nThe host of the service must be among externalHosts: in the file of settings, which the server reads when it starts and this command\nwith --config or MAPWRIGHT_CONFIG, or in MAPWRIGHT_EXTERNAL_HOSTS, for the server and for this command.`,
    )
    .action(async (code: string, base: string, options: ServiceOptions, command: Command) => {
      await withServices(env, command, ({ config, db }) =>
        setBaseMap(db, code, baseMapOf(base, options, config.externalHosts)),
      );
      report(env, command, {
        message: `The base map of project ${code} was set.`,
        value: { project: code, base },
      });
    });

  project
    .command("delete")
    .description("delete a project with its maps, layers and objects")
    .argument("<code>", "code of the project")
    .option(...yesOption)
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} project delete city\n  $ ${programName()} project delete city --yes\n\nThe project is gone at once and cannot be restored. Then the command removes its data; a running server does so\nif the command is interrupted.`,
    )
    .action(async (code: string, options: { yes?: boolean }, command: Command) => {
      await confirm(env, `Delete the project ${code} with its maps, layers and objects?`, options.yes);
      await withServices(env, command, async (services) => {
        await deleteProject(services.db, code);
        await propagateChange(services);
        report(env, command, {
          message: `Project ${code} was deleted.`,
          value: { project: code, deleted: true },
        });
        await removeContents(env, services);
      });
    });
}

interface ServiceOptions {
  readonly minZoom?: string;
  readonly maxZoom?: string;
  readonly attribution: string;
}

const asTyped: SourceNames = {
  url: "<base>",
  minZoom: "--min-zoom",
  maxZoom: "--max-zoom",
  attribution: "--attribution",
};

/** @throws Failure invalid_value; UsageError */
function baseMapOf(base: string, options: ServiceOptions, hosts: readonly string[]): BaseMap {
  if (base === "builtin" || base === "none") return { kind: base };
  const style = baseMapStyles.find((name) => base === `builtin-${name}`);
  if (style) return { kind: "builtin", style };
  if (!base.includes("/")) {
    const names = ["builtin", ...baseMapStyles.map((name) => `builtin-${name}`), "none"];
    throw new UsageError(
      `<base> is ${names.join(", ")}, or the address of a raster service${didYouMean(base, names)}`,
    );
  }
  return { kind: "tiles", ...readExternalSource({ url: base, ...options }, hosts, asTyped) };
}
