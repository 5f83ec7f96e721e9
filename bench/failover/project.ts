import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import type { Config } from "../../src/config.js";
import type { Log } from "../../src/log.js";
import { migrate } from "../../src/storage/migrate.js";
import { openDatabase } from "../../src/storage/postgres.js";

/** Makes the tables, and the project `p` with its administrator (`admin`, `adminadmin`). */
export async function makeProject(
  { databaseUrl: url }: Pick<Config, "databaseUrl">,
  log: Log,
): Promise<void> {
  const db = openDatabase({ url, connections: 2, statementTimeoutMs: 60_000, log });
  const client = await db.dedicated();
  await migrate(client);
  await client.end();
  const projectId = await createProject(db, { code: "p", languages: ["en"] });
  await addMember(db, { login: "admin", password: "adminadmin", projectId, role: "admin" });
  await db.close();
}
