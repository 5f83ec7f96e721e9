import { type Command, Option } from "commander";
import { type BackupFolder, openBackups } from "../backup/backup-folder.js";
import { makeBackup } from "../backup/make-backup.js";
import { isInUse, restoreBackup } from "../backup/restore-backup.js";
import { counted } from "../counted.js";
import { programName } from "../program-name.js";
import { openBlobs } from "../storage/open-blobs.js";
import { confirm, yesOption } from "./confirm.js";
import {
  type CommandEnvironment,
  CommandError,
  print,
  report,
  say,
  UsageError,
  withServices,
} from "./environment.js";
import { Interrupted, interruptible } from "./interrupt.js";
import { Progress } from "./progress.js";
import { table } from "./table.js";

/** Nobody waits for a file of a backup, and one that is not had ends it. */
const patience = { briefMs: 60_000 };

/** mapwright backup, mapwright restore */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("backup")
    .description("save the database and all files, while people work")
    .argument(
      "<target>",
      "folder, or s3://bucket/prefix, of backups; it keeps several, and copies only files that are new",
    )
    .option("--keep <count>", "remove all but so many of the newest backups afterwards")
    .option("--list", "only tell which backups are there")
    .option("--quiet", "say nothing when all went well, as for cron")
    .addHelpText(
      "after",
      `
Settings, sessions and tiles are not in it. Hashes of passwords are: let nobody else read the folder, or write into it, as a
restore does to the database what is written there.

Examples:
  $ ${programName()} backup /var/backups/mapwright --keep 14
  $ ${programName()} backup s3://backups-example/maps --keep 14
  $ ${programName()} backup /var/backups/mapwright --list`,
    )
    .action(
      async (path: string, options: { keep?: string; list?: boolean; quiet?: boolean }, command: Command) => {
        if (options.list) return list(env, command, path);
        const keep = options.keep === undefined ? undefined : countOf(options.keep);
        await withServices(env, command, ({ config, db }) =>
          withWord(env, "no backup was made", async (signal) => {
            const progress = new Progress(env, "files");
            const backup = await makeBackup(
              await openedAt(path),
              {
                config,
                db,
                blobs: await openBlobs(config, patience),
                signal,
                progress: (all) => progress.add(1, all),
              },
              keep,
            ).finally(() => progress.end());
            const { removed } = backup;
            if (options.quiet) return;
            report(env, command, {
              message:
                `Backup ${backup.name} in ${path}: the database (${megabytes(backup.databaseBytes)}) and ` +
                `${counted(backup.blobs, "file")}, ${backup.copied} of them new (${megabytes(backup.copiedBytes)}).` +
                `${removed > 0 ? ` ${counted(removed, "old backup")} removed.` : ""}`,
              value: backup,
            });
          }),
        );
      },
    );

  program
    .command("restore")
    .description("put a backup in the place of all that the installation has")
    .argument("<target>", "folder, or s3://bucket/prefix, of backups")
    .option("--at <name>", "the backup of that name (default: the newest)")
    .option("--replace", "also where there are projects or users, which are lost")
    .addOption(new Option(...yesOption))
    .addHelpText(
      "after",
      `
Servers that run notice it; their users wait for a while. Make the database first, with its extensions, where there is none.

Examples:
  $ ${programName()} restore /var/backups/mapwright
  $ ${programName()} restore /var/backups/mapwright --at 2026-11-28T02-30-00Z --replace`,
    )
    .action(
      async (path: string, options: { at?: string; replace?: boolean; yes?: boolean }, command: Command) => {
        const folder = await openedAt(path);
        const { whole: backups, damaged } = await listed(folder);
        const backup =
          options.at === undefined ? backups.at(-1) : backups.find(({ name }) => name === options.at);
        if (!backup && options.at === undefined)
          throw new CommandError(`All backups in ${path} are damaged.`);
        if (!backup)
          throw new CommandError(
            options.at !== undefined && damaged.includes(options.at)
              ? `The backup ${options.at} is damaged: its file backup.json cannot be understood. Take another one.`
              : `There is no backup ${options.at} in ${path}: --list of the command backup tells which there are.`,
          );
        await withServices(env, command, async ({ config, db }) => {
          if (await isInUse(db)) {
            if (!options.replace)
              throw new CommandError(
                "The installation has projects or users, which would be lost: --replace says that it is meant.",
              );
            await confirm(env, `Lose all that was done since ${backup.made}?`, options.yes);
          }
          await withWord(env, "the database is as it was", async (signal) => {
            const progress = new Progress(env, "files");
            await restoreBackup(folder, backup, {
              ...{ config, db, blobs: await openBlobs(config, patience), signal },
              progress: (all) => progress.add(1, all),
            }).finally(() => progress.end());
          });
        });
        report(env, command, {
          message: `Restored ${backup.name}, made by ${backup.program}.`,
          value: backup,
        });
      },
    );
}

/** As `interruptible`, and says how an interruption has left things. */
const withWord = (
  env: CommandEnvironment,
  word: string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> =>
  interruptible(work).catch((error) => {
    if (error instanceof Interrupted) say(env, `Interrupted: ${word}.`);
    throw error;
  });

async function list(env: CommandEnvironment, command: Command, path: string): Promise<void> {
  const { whole, damaged } = await listed(await openedAt(path));
  if (command.opts().json) return print(env, JSON.stringify(whole, null, 2));
  const rows = whole.map(({ name, program, databaseBytes, blobs }) => [
    name,
    program,
    megabytes(databaseBytes),
    String(blobs),
  ]);
  print(
    env,
    table(
      ["BACKUP", "MADE BY", "DATABASE", "FILES"],
      [...rows, ...damaged.map((name) => [name, "damaged", "", ""])],
    ),
  );
}

/** @throws UsageError */
const openedAt = (target: string): Promise<BackupFolder> =>
  openBackups(target).catch((error: Error) => {
    throw new UsageError(error.message);
  });

/** The backups of a folder, of which there is one at least. @throws CommandError */
async function listed(folder: BackupFolder): ReturnType<BackupFolder["list"]> {
  const { path } = folder;
  const found = await folder.list().catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EACCES")
      throw new CommandError(`The folder ${path} cannot be read: permission denied.`);
    if (error.code === "ENOTDIR") throw new CommandError(`${path} is no folder.`);
    throw error;
  });
  if (found.whole.length + found.damaged.length === 0)
    throw new CommandError(`There is no backup in ${path}.`);
  return found;
}

function countOf(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new UsageError("--keep takes a whole number from 1 on.");
  return count;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
