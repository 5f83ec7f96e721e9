import type { Command } from "commander";
import { counted } from "../counted.js";
import { createLog } from "../log.js";
import { programName } from "../program-name.js";
import { migrate, type PendingMigrations, pendingMigrations } from "../storage/migrate.js";
import { openDatabase } from "../storage/postgres.js";
import { programBuild } from "../version.js";
import {
  adviceWithoutDatabase,
  type CommandEnvironment,
  configOf,
  connected,
  isJson,
  print,
  report,
} from "./environment.js";
import { table } from "./table.js";

/** mapwright upgrade */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("upgrade")
    .description("bring the database to this version's schema, as the start of a server does")
    .option("--check", "only tell what would be done, and whether older nodes can go on meanwhile")
    .addHelpText(
      "after",
      `
A server that starts does the same. With several machines run it once, before the first of them is replaced. No step waits for a lock
for longer than a second, so that people work on.

Examples:
  $ ${programName()} upgrade --check
  $ ${programName()} upgrade`,
    )
    .action(async (options: { check?: boolean }, command: Command) => {
      const config = configOf(env, command);
      const log = createLog("silent", "mapwright");
      const db = openDatabase({
        url: config.databaseUrl,
        directUrl: config.databaseDirectUrl,
        connections: 1,
        statementTimeoutMs: 0,
        log,
      });
      try {
        const client = await connected(db, adviceWithoutDatabase(config));
        try {
          if (options.check) tell(env, command, await pendingMigrations(client));
          else {
            const applied = await migrate(client);
            report(env, command, {
              message:
                applied.length === 0
                  ? "The schema is up to date."
                  : `Schema brought up to date (${counted(applied.length, "step")}).`,
              value: { applied },
            });
          }
        } finally {
          await client.end();
        }
      } finally {
        await db.close();
      }
    });
}

/** Whether nodes of the version before work on during the upgrade, and after it, so that there is a way back. */
const keepsOlder = ({ pending, isEmpty }: PendingMigrations): boolean =>
  isEmpty || pending.every(({ expands }) => expands);

function tell(env: CommandEnvironment, command: Command, found: PendingMigrations): void {
  const value = { program: programBuild(), ...found, olderNodesGoOn: keepsOlder(found) };
  print(env, isJson(command) ? JSON.stringify(value, null, 2) : told(found));
}

function told(found: PendingMigrations): string {
  const { pending, later, isEmpty } = found;
  if (later.length > 0)
    return `The schema is a newer version's (${later.join(", ")}). This version goes on with it, and changes nothing.`;
  if (pending.length === 0) return "The schema is up to date.";
  const rows = pending.map(({ name, expands }) => [name, expands ? "go on" : "must be stopped"]);
  const sum = counted(pending.length, "step");
  return [
    ...(isEmpty ? [] : [table(["STEP", "OLDER NODES"], rows)]),
    keepsOlder(found)
      ? `${sum} to do. Older nodes go on meanwhile, and you can go back to their version.`
      : `${sum} to do. Stop all nodes first. To go back takes a backup from before: make one.`,
  ].join("\n");
}
