import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeAll } from "../../src/catalog/removal.js";
import { type TestServer, waitFor } from "./server.js";

/**
 * What must hold after every hostile request: the hosts that ran still run, a good request is answered, no stored data
 * changed, nobody was called, no file was told, nothing was left behind. (The front is the process of the test itself.)
 */

export interface Safety {
  /** Address of a listener that nobody may ever connect to. */
  readonly canaryUrl: string;
  /** A file that anybody may read; its text must be in no answer. */
  readonly canaryFile: string;
  /** A request as it stands, on the first node unless told otherwise; what it answers is searched for the canary. */
  ask(path: string, init?: RequestInit & { readonly node?: number }): Promise<Asked>;
  /** Takes what is stored now for what is to stay. */
  accept(): Promise<void>;
  /** Asserts all of it. */
  holds(t: Asserter, after: string): Promise<void>;
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed JSON; undefined when it is none. */
  readonly json: any;
}

/** As much of tap's test as is needed here. */
export interface Asserter {
  same(found: any, wanted: any, message: string): boolean;
  equal(found: any, wanted: any, message: string): boolean;
  teardown(work: () => Promise<unknown>): void;
}

/** Tables of the catalogue whose rows hostile requests leave alone. */
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
];

/**
 * @param good path of a request that is answered 200, whatever else happens
 */
export async function watchSafety(t: Asserter, server: TestServer, good: string): Promise<Safety> {
  let calls = 0;
  const listener = net.createServer((socket) => {
    calls++;
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

  const told: string[] = [];
  const hosts = () => server.nodes.map(({ services }) => services.render.pid);
  const running = hosts();
  let stored = await storedData(server);

  const ask: Safety["ask"] = async (path, { node = 0, ...init } = {}) => {
    const answer = await fetch(server.urls[node] + path, init);
    const text = await answer.text();
    if (text.includes(canary) || JSON.stringify([...answer.headers]).includes(canary)) told.push(path);
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
        // Generous: the machines that tests run on have other things to do.
        const answer = await ask(good, { node, signal: AbortSignal.timeout(10_000) });
        t.equal(answer.status, 200, `${after}: a good request is answered`);
      }
      t.same(hosts(), running, `${after}: the render host lives`);
      t.same(await storedData(server), stored, `${after}: what is stored is as it was`);
      t.equal(calls, 0, `${after}: nobody was called`);
      t.same(told, [], `${after}: no file was told`);
      await waitFor(async () => (await temporaryFiles(server)).length === 0);
      t.same(await temporaryFiles(server), [], `${after}: no temporary file is left`);
    },
  };
}

/** Number and checksum of the rows of every layer's table and of the catalogue's. */
async function storedData(server: TestServer): Promise<Record<string, string>> {
  // What was deleted before goes now, if it is not gone yet.
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
