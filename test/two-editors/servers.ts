import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Server, startServer } from "../../bench/server.js";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { loadConfig } from "../../src/config.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase, settingsOf } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { waitFor } from "../support/server.js";
import { type Account, type Columns, languages, layers, type Place } from "./place.js";

/** Two nodes, each a process that can be killed, with the layers of the sessions. */

export interface Nodes {
  readonly place: Place;
  /** Kills a node, which then starts again. One at a time: else nobody could edit. @returns whether it was */
  kill(node: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** How long both nodes are there before one is killed: while one starts little is done. */
const calmMs = 8_000;

const logins = ["ann", "bob"] as const;

export async function startNodes(): Promise<Nodes> {
  const database = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-test-"));
  const config = loadConfig({
    environment: {},
    flags: {
      ...settingsOf(database),
      ...{ redisUrl: testRedisUrl(), redisPrefix: freshPrefix(), dataDir, host: "127.0.0.1", port: 0 },
      ...{ "tiles.redrawHot": false, "tiles.packHot": false, logLevel: "silent", sessionIdleSeconds: 86_400 },
    },
  });
  const db = openDatabase({
    url: config.databaseUrl,
    connections: 2,
    statementTimeoutMs: 60_000,
    log: quietLog,
  });
  const projectId = await createProject(db, { code: "p", languages });
  for (const login of ["admin", ...logins])
    await addMember(db, { login, password: login.repeat(4), projectId, role: "admin" });
  await db.close();
  const servers: Server[] = [];
  for (let n = 0; n < 2; n++) servers.push(await startServer(config, quietLog));
  const urls = servers.map(({ url }) => url);
  const place = { urls, databaseUrl: database.url, ...(await furnish(urls[0]!)) };
  let killing: Promise<void> | undefined;
  let restored = performance.now();
  return {
    place,
    async kill(node) {
      const { pid } = servers[node]!;
      if (killing || pid === 0 || performance.now() - restored < calmMs) return false;
      process.kill(pid, "SIGKILL");
      killing = waitFor(async () => {
        if (servers[node]!.pid === 0 || servers[node]!.pid === pid) return false;
        const answer = await fetch(`${urls[node]}/health/ready`).catch(() => undefined);
        return answer?.ok === true;
      }).finally(() => {
        killing = undefined;
        restored = performance.now();
      });
      await killing;
      return true;
    },
    async stop() {
      await killing;
      await Promise.all(servers.map((server) => server.stop()));
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Makes the map with its layers, and lets everybody sign in. */
async function furnish(url: string): Promise<Pick<Place, "layers" | "accounts" | "token">> {
  const ask = async (method: string, path: string, body: unknown, token?: string) => {
    const answer = await fetch(`${url}/api/2.8/p/${path}`, {
      method,
      headers: { "content-type": "application/json", ...(token && { "x-token": token }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const signIn = async (user: string): Promise<string> =>
    (await ask("POST", "login/", { user, pass: user.repeat(4) })).token;
  const token = await signIn("admin");
  await ask("POST", "", { code: "m" }, token);
  const columns = new Map<string, Columns>();
  const ids = new Map<string, number>();
  for (const { code, isLocalized } of layers) {
    const { id } = await ask("POST", "m/layers/", { code }, token);
    ids.set(code, id);
    const structure = `m/layers/${code}/structure/`;
    for (const column of [
      { code: "mark", type: "string" },
      { code: "note", type: "text" },
      { code: "height", type: "number" },
      { code: "title", type: "string", localized_value: isLocalized },
    ])
      await ask("POST", structure, column, token);
    columns.set(code, await ask("GET", structure, undefined, token));
  }
  const accounts: Account[] = [];
  for (const login of logins) accounts.push({ login, token: await signIn(login) });
  return {
    token,
    accounts,
    layers: layers.map(({ code }) => ({ code, id: ids.get(code)!, columns: columns.get(code)! })),
  };
}
