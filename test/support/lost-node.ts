import { loadConfig } from "../../src/config.js";
import { startNode } from "../../src/node.js";
import { workLock } from "../../src/storage/advisory-locks.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { quietLog } from "./log.js";

/**
 * A node in a process of its own, which holds what a node may hold when it is lost: the lock of each work, and a row in a
 * transaction. Arguments: its configuration as JSON, and the id of the object that it edits, with its table. It says the
 * port that it listens on.
 */
const [flags = "{}", table = "", object = ""] = process.argv.slice(2);
const config = loadConfig({ environment: {}, flags: JSON.parse(flags) });
const node = await startNode(config, quietLog);
await node.services.render.whenReady();
const db = openDatabase({
  url: config.databaseUrl,
  directUrl: config.databaseDirectUrl,
  connections: 2,
  statementTimeoutMs: 30_000,
  log: quietLog,
});
const client = await db.dedicated();
for (const key of Object.values(workLock))
  if (key !== workLock.cdn) await client.query(`select pg_advisory_lock(${key})`);
void db.transaction(async (tx) => {
  await tx.execute(`update ${table} set geom = geom where svc_id = $1`, [object]);
  console.log(node.port);
  await new Promise(() => undefined);
});
