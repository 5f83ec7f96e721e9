import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeAll } from "../../src/catalog/removal.js";
import { type TestServer, waitFor } from "./server.js";

/**
 * Checks after every malicious request: the host processes still run, a valid request gets a response, stored data is
 * unchanged, no outgoing connection was made, no file content was disclosed, no temporary file is left.
 */

export interface Safety {
  /** URL of a listener that must never get a connection. */
  readonly canaryUrl: string;
  /** A readable file whose content must not be in any response. */
  readonly canaryFile: string;
  /** Sends a request, to the first node by default, and searches the response for the content of the canary file. */
  ask(path: string, init?: RequestInit & { readonly node?: number }): Promise<SafeResponse>;
  /** Makes the current stored data the expected state. */
  accept(): Promise<void>;
  /** Asserts all conditions. @param after name of the request, for messages */
  holds(t: Assertions, after: string): Promise<void>;
}

export interface SafeResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed JSON; undefined when it is none. */
  readonly json: any;
}

/** The part of tap's Test that is used here. */
export interface Assertions {
  same(found: any, wanted: any, message: string): boolean;
  equal(found: any, wanted: any, message: string): boolean;
  teardown(work: () => Promise<unknown>): void;
}

/** Tables of the catalogue that malicious requests must not change. */
const catalogue = [
  "project",
  "account",
  "membership",
  "access_grant",
  "map",
  "node",
  "layer_column",
  "column_constraint",
  "search_setting",
  "file",
  "raster",
];

/**
 * @param good path of a request that must always get 200
 */
export async function watchSafety(t: Assertions, server: TestServer, good: string): Promise<Safety> {
  let connections = 0;
  const listener = net.createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as net.AddressInfo;
  const folder = await mkdtemp(join(tmpdir(), "mapwright-canary-"));
  const canaryFile = join(folder, "canary.txt");
  const canary = "c4n4ry-7e1f0d";
  await writeFile(canaryFile, `${canary}\n`, { mode: 0o644 });
  t.teardown(async () => {
    await new Promise((resolve) => listener.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });

  const leaks: string[] = [];
  const hosts = () => server.nodes.map(({ services }) => services.render.pid);
  const initialHosts = hosts();
  let stored = await storedData(server);

  const ask: Safety["ask"] = async (path, { node = 0, ...init } = {}) => {
    const answer = await fetch(server.urls[node] + path, init);
    const text = await answer.text();
    if (text.includes(canary) || JSON.stringify([...answer.headers]).includes(canary)) leaks.push(path);
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: answer.status, headers: answer.headers, text, json };
  };

  return {
    canaryUrl: `http://127.0.0.1:${port}`,
    canaryFile,
    ask,
    async accept() {
      stored = await storedData(server);
    },
    async holds(t, after) {
      for (const node of server.nodes.keys()) {
        // Long, since test machines may be loaded.
        const answer = await ask(good, { node, signal: AbortSignal.timeout(10_000) });
        t.equal(answer.status, 200, `${after}: a valid request gets 200`);
      }
      t.same(hosts(), initialHosts, `${after}: the render hosts still run`);
      t.same(await storedData(server), stored, `${after}: stored data is unchanged`);
      t.equal(connections, 0, `${after}: no outgoing connection`);
      t.same(leaks, [], `${after}: no file content in responses`);
      await waitFor(async () => (await temporaryFiles(server)).length === 0);
      t.same(await temporaryFiles(server), [], `${after}: no temporary file is left`);
    },
  };
}

/** Row count and checksum of every layer table and catalogue table. */
async function storedData(server: TestServer): Promise<Record<string, string>> {
  // Finishes the removal of what was deleted before.
  await removeAll(server.nodes[0]!.services.db);
  const { rows } = await server.sql.query(
    `select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and (n.nspname = 'layers' or n.nspname = 'mapwright' and c.relname = any($1))
     order by 1, 2`,
    [catalogue],
  );
  const data: Record<string, string> = {};
  for (const { schema, name } of rows as { schema: string; name: string }[]) {
    const table = `${schema}.${name}`;
    const sums = await server.sql.query(
      `select count(*) || ' ' || md5(coalesce(string_agg(r::text, '|' order by r::text), '')) as sum from ${table} r`,
    );
    data[table] = sums.rows[0].sum;
  }
  return data;
}

async function temporaryFiles(server: TestServer): Promise<string[]> {
  const dataDir = server.nodes[0]!.services.config.dataDir;
  const names = await readdir(join(dataDir, "tmp")).catch(() => []);
  return [...names];
}
