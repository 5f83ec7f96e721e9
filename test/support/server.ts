import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import pg from "pg";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import type { Role } from "../../src/catalog/state.js";
import { loadConfig } from "../../src/config.js";
import type { Log } from "../../src/log.js";
import { type Node, startNode } from "../../src/node.js";
import { addressesOf, freshDatabase, settingsOf, type TestDatabase } from "./database.js";
import { quietLog } from "./log.js";
import { freshPrefix, testRedisUrl } from "./redis.js";

/** Starts one or several nodes on a new database, wired as by `mapwright serve`. */

export interface TestServer {
  /** URL of the first node, without a trailing slash. */
  readonly url: string;
  readonly nodes: readonly Node[];
  readonly urls: readonly string[];
  readonly database: TestDatabase;
  /** A database connection with the schema in its search path. */
  readonly sql: pg.Client;
  /** Code of the project, `p` (languages en, ru). It has a user per role; the login is the role, the password the login twice. */
  readonly project: string;
  token(role: Role): Promise<string>;
  /** A request to the API of project `p`; the path continues after `/api/2.8/p/`. */
  api(method: string, path: string, options?: ApiOptions): Promise<ApiAnswer>;
  stop(): Promise<void>;
}

export interface ApiOptions {
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly node?: number;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed JSON; undefined when it is none. */
  readonly json: any;
}

export interface TestServerOptions {
  readonly nodes?: number;
  /** An empty database with the schema, which the caller drops; default: a new database. */
  readonly databaseUrl?: string;
  /** Dotted configuration keys. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Default: no output. */
  readonly log?: Log;
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const database = options.databaseUrl
    ? { url: options.databaseUrl, at: addressesOf(options.databaseUrl), drop: async () => undefined }
    : await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-test-"));
  const config = loadConfig({
    environment: {},
    flags: {
      ...(options.config?.databaseUrl === undefined && settingsOf(database)),
      redisUrl: testRedisUrl(),
      redisPrefix: freshPrefix(),
      host: "127.0.0.1",
      port: 0,
      // As users have it: the default is relative, too.
      dataDir: relative(process.cwd(), dataDir),
      // Tests count what is drawn.
      "tiles.redrawHot": false,
      "tiles.packHot": false,
      ...options.config,
    },
  });
  const nodes = await Promise.all(
    Array.from({ length: options.nodes ?? 1 }, () => startNode(config, options.log ?? quietLog)),
  );
  const urls = nodes.map((node) => `http://127.0.0.1:${node.port}`);
  const sql = new pg.Client({ connectionString: database.url });
  sql.on("error", () => undefined);
  await sql.connect();
  await sql.query("set search_path = mapwright, public");
  const db = nodes[0]!.services.db;
  const projectId = await createProject(db, { code: "p", languages: ["en", "ru"] });
  for (const role of ["admin", "editor", "viewer"] as const) {
    await addMember(db, { login: role, password: `${role}${role}`, projectId, role });
  }
  await Promise.all(nodes.map((node) => node.services.render.whenReady()));

  const api = async (method: string, path: string, request: ApiOptions = {}): Promise<ApiAnswer> => {
    const answer = await fetch(`${urls[request.node ?? 0]}/api/2.8/p/${path}`, {
      method,
      headers: {
        ...(request.token ? { "x-token": request.token } : {}),
        ...(request.body !== undefined ? { "content-type": "application/json" } : {}),
        ...request.headers,
      },
      ...(request.body !== undefined ? { body: JSON.stringify(request.body) } : {}),
    });
    const text = await answer.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: answer.status, headers: answer.headers, text, json };
  };
  const tokens = new Map<Role, string>();
  return {
    url: urls[0]!,
    urls,
    nodes,
    database,
    sql,
    project: "p",
    api,
    token: async (role) => {
      const known = tokens.get(role);
      if (known) return known;
      const answer = await api("POST", "login/", { body: { user: role, pass: `${role}${role}` } });
      if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`);
      tokens.set(role, answer.json.token);
      return answer.json.token;
    },
    stop: async () => {
      await sql.end().catch(() => undefined);
      await Promise.all(nodes.map((node) => node.stop(2_000)));
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Waits until `condition` is true; throws after two minutes, which a very busy machine may need. */
export async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition did not become true within two minutes");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
