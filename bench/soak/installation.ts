import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import type { Role } from "../../src/catalog/state.js";
import { loadConfig } from "../../src/config.js";
import { startLocalServices } from "../../src/local-services/services.js";
import { createLog } from "../../src/log.js";
import { migrate } from "../../src/storage/migrate.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { type Server, startServer } from "../server.js";

/** PostgreSQL, Redis and two nodes of the soak's own, in a folder that is removed afterwards. All of it may be killed. */

export interface Installation {
  readonly nodes: readonly Server[];
  /** Process ids of what runs now; undefined while it is being started again. */
  services(): { readonly database: number; readonly redis: number } | undefined;
  stop(): Promise<void>;
}

/** Users have their login as password. */
export interface Member {
  readonly login: string;
  readonly role: Role;
}

/**
 * @param projects the users of each project
 * @param verbose with the logs of the nodes on standard error
 */
export async function startInstallation(
  projects: Readonly<Record<string, readonly Member[]>>,
  verbose: boolean,
): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-soak-"));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once("exit", remove);
  // What is killed is told as an error; that is no news here.
  const logLevel = verbose ? "warn" : "fatal";
  const log = createLog(logLevel, "soak");
  // What a killed PostgreSQL has acknowledged is to be there, as for users.
  const services = await startLocalServices({ dataDir: join(folder, "services"), log, durable: true });
  const ends: (() => Promise<void>)[] = [() => services.stop()];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
    process.removeListener("exit", remove);
    remove();
  };
  try {
    const { databaseUrl, redisUrl } = services;
    if (!databaseUrl || !redisUrl) throw new Error("The private services did not all start.");
    await fill(databaseUrl, projects);
    const dataDir = join(folder, "files");
    mkdirSync(dataDir);
    const flags = {
      ...{ databaseUrl, redisUrl, dataDir, host: "127.0.0.1", port: 0, logLevel },
      // Clients say by X-Forwarded-For where they come from.
      trustedProxies: ["127.0.0.1"],
    };
    const nodes: Server[] = [];
    for (let index = 0; index < 2; index++) {
      const node = await startServer(loadConfig({ environment: {}, flags }), log);
      ends.push(() => node.stop());
      nodes.push(node);
    }
    return {
      nodes,
      services: () => {
        const [database, redis] = services.pids();
        return database === undefined || redis === undefined ? undefined : { database, redis };
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function fill(url: string, projects: Readonly<Record<string, readonly Member[]>>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await migrate(client).finally(() => client.end());
  const db = openDatabase({
    url,
    connections: 2,
    statementTimeoutMs: 60_000,
    log: createLog("fatal", "soak"),
  });
  try {
    for (const [code, members] of Object.entries(projects)) {
      const projectId = await createProject(db, { code });
      for (const { login, role } of members)
        await addMember(db, { login, password: `${login}-${login}`, projectId, role });
    }
  } finally {
    await db.close();
  }
}
