import type { Command } from "commander";
import { listBin, purgeBin } from "../catalog/bin-contents.js";
import { restoreColumn } from "../catalog/column-bin.js";
import { projectId } from "../catalog/projects.js";
import { restore } from "../catalog/restore.js";
import { programName } from "../program-name.js";
import { confirm, yesOption } from "./confirm.js";
import {
  type CommandEnvironment,
  CommandError,
  isJson,
  print,
  propagateChange,
  report,
  withServices,
} from "./environment.js";
import { removeContents } from "./remove-contents.js";
import { table } from "./table.js";

/** mapwright bin list | restore | empty */
export function register(program: Command, env: CommandEnvironment): void {
  const bin = program.command("bin").description("list, restore and remove what was deleted");

  bin
    .command("list")
    .description("list what can be restored, newest first")
    .argument("<project>", "code of the project")
    .addHelpText("after", `\nExample:\n  $ ${programName()} bin list city`)
    .action(async (project: string, _: object, command: Command) => {
      const entries = await withServices(env, command, async ({ db }) =>
        listBin(db, await projectId(db, project)),
      );
      if (isJson(command)) {
        const shown = entries.map(({ id, kind, code, map, layer, bytes, deletedAt, by }) => ({
          ...{ id, kind, code, map, layer, bytes },
          ...{ deleted: deletedAt, deleted_by: by },
        }));
        return print(env, JSON.stringify(shown, null, 2));
      }
      const rows = entries.map(({ id, kind, code, map, layer, bytes, deletedAt, by }) => [
        String(id),
        kind,
        code,
        kind === "map" ? "" : [map, layer].filter(Boolean).join("/"),
        String(bytes),
        deletedAt.toISOString(),
        by || "the operator",
      ]);
      print(env, table(["ID", "KIND", "CODE", "IN", "BYTES", "DELETED", "BY"], rows));
    });

  bin
    .command("restore")
    .description("restore what was deleted, with all that hung on it")
    .argument("<project>", "code of the project")
    .argument("<id>", "its id, as the list has it")
    .option("--code <code>", "code that it gets; default: the one that it had")
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} bin restore city 12\n  $ ${programName()} bin restore city 12 --code roads2`,
    )
    .action(async (project: string, id: string, { code }: { code?: string }, command: Command) => {
      const restored = await withServices(env, command, async (services) => {
        const { db } = services;
        const of = await projectId(db, project);
        const [entry] = /^\d{1,15}$/.test(id) ? await listBin(db, of, Number(id)) : [];
        if (!entry) throw new CommandError(`There is no entry ${id} in the bin of ${project}.`);
        const { mapId, layerId } = entry;
        const done =
          entry.kind === "column"
            ? await restoreColumn(db, of, { id: entry.id, mapId, layerId: layerId! }, code)
            : await restore(db, of, entry.id, code);
        await propagateChange(services);
        return done;
      });
      const { kind, code: now, notes } = restored;
      report(env, command, {
        message: [`The ${kind} ${now} is restored.`, ...notes].join(" "),
        value: { project, kind, code: now, notes, restored: true },
      });
    });

  bin
    .command("empty")
    .description("remove for good what was deleted")
    .argument("<project>", "code of the project")
    .argument("[id]", "only this entry of the list")
    .option(...yesOption)
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} bin empty city\n  $ ${programName()} bin empty city 12 --yes`,
    )
    .action(async (project: string, id: string | undefined, options: { yes?: boolean }, command: Command) => {
      const what = id === undefined ? `all that is in the bin of ${project}` : `the entry ${id}`;
      await confirm(env, `Remove ${what} for good?`, options.yes);
      await withServices(env, command, async (services) => {
        const { db } = services;
        const of = await projectId(db, project);
        const which = id === undefined ? { project: of } : { project: of, id: Number(id) || 0 };
        let removed = 0;
        for (let some = -1; some !== 0; removed += some) some = await purgeBin(db, which);
        if (id !== undefined && removed === 0)
          throw new CommandError(`There is no entry ${id} in the bin of ${project}, or it is in use.`);
        report(env, command, {
          message: `${removed} entries of the bin of ${project} were removed.`,
          value: { project, removed },
        });
        await removeContents(env, services);
      });
    });
}
