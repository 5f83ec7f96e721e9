import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { setTimeout as pause } from "node:timers/promises";
import t, { type Test } from "tap";
import { freshDatabase } from "../support/database.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { startServer, waitFor } from "../support/server.js";

/** Two nodes behind PgBouncer in transaction mode, with few sessions and the address past it. */

const database = await freshDatabase();
const mostSessions = 8;
const settings = `default_pool_size = ${mostSessions}\nserver_round_robin = 1`;
const pooler = await startPgBouncer(database.url, "transaction", settings);
const started: ChildProcess[] = [];
subscribe("child_process", (message) => started.push((message as { process: ChildProcess }).process));
const server = await startServer({
  nodes: 2,
  databaseUrl: database.url,
  config: { databaseUrl: pooler.url, databaseDirectUrl: database.url },
});
t.teardown(async () => {
  await server.stop();
  await pooler.stop();
  await database.drop();
});
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #d00; }");
const token = await server.token("editor");
const place = { lon: 20, lat: 20, z: 3 };

async function tileOf(node: number): Promise<{ status: number; body: string; incomplete: string | null }> {
  const answer = await fetch(tileUrl(server, "m", place, "", node));
  const body = createHash("sha1").update(Buffer.from(await answer.arrayBuffer()));
  return {
    status: answer.status,
    body: body.digest("hex"),
    incomplete: answer.headers.get("x-tile-incomplete"),
  };
}

let edits = 0;
const edit = (node: number) => {
  const n = edits++;
  return addObject(server, "l", square(2 + (n % 30), 2 + Math.floor(n / 30), 0.8), { map: "m", node });
};

/** Both nodes show the same, and what is not shown yet. */
async function isFresh(t: Test, before: string, what: string): Promise<string> {
  const [one, other] = await Promise.all([tileOf(0), tileOf(1)]);
  t.match(
    [one, other],
    [
      { status: 200, incomplete: null },
      { status: 200, incomplete: null },
    ],
    what,
  );
  t.not(one.body, before, `${what}: the edit is shown`);
  t.equal(one.body, other.body, `${what}: on both nodes`);
  return one.body;
}

t.test("each node has started its render host once", (t) => {
  t.equal(started.filter(({ spawnargs }) => spawnargs.includes("render")).length, 2);
  t.end();
});

t.test("an edit is in the next tile of both nodes, and waits for nobody", async (t) => {
  let before = (await tileOf(0)).body;
  const began = performance.now();
  for (let n = 0; n < 24; n++) {
    await edit(n % 2);
    before = await isFresh(t, before, `edit ${n}`);
  }
  t.comment(`${Math.round((performance.now() - began) / 24)} ms for each edit and its tiles`);
});

t.test("many edits at once are all taken", async (t) => {
  const ids = await Promise.all(Array.from({ length: 80 }, (_, n) => edit(n % 2)));
  t.equal(new Set(ids).size, 80);
});

t.test("imports, exports, lists and searches", async (t) => {
  const features = Array.from({ length: 2_000 }, (_, n) => ({
    type: "Feature",
    properties: { name: `place ${n}` },
    geometry: { type: "Point", coordinates: [n / 100, 10] },
  }));
  await makeStyledLayer(server, "m", "i", "#i { marker-fill: #00d; }");
  const imports = await Promise.all([
    server.api("POST", "m/layers/i/import/", { token, body: { type: "FeatureCollection", features } }),
    ...Array.from({ length: 10 }, (_, n) => edit(n % 2)),
  ]);
  t.equal((imports[0] as { status: number }).status, 200, (imports[0] as { text: string }).text);
  for (const format of ["geojson", "fgb", "csv", "gpkg"]) {
    const answer = await fetch(`${server.urls[1]}/api/2.8/p/m/layers/i/export/?format=${format}`, {
      headers: { "x-token": token },
    });
    t.equal(answer.status, 200, format);
    t.ok((await answer.arrayBuffer()).byteLength > 20_000, format);
  }
  const lists = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      server.api("GET", "m/layers/i/objects/?fields=*&geom=1", { token, node: n % 2 }),
    ),
  );
  for (const { status, json } of lists) t.same([status, json.length ?? json.items?.length], [200, 2_000]);
});

t.test("two connections of a node are past it, and none of its sessions keeps anything", async (t) => {
  const sessions = `select from pg_stat_activity where datname = current_database()
      and backend_type = 'client backend' and pid <> pg_backend_pid()`;
  const { length } = (await server.sql.query(sessions)).rows;
  t.ok(length <= mostSessions + 2 * 2, `${length} sessions`);
  const locks = `select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`;
  await waitFor(async () => (await server.sql.query(locks)).rows.length === 0);
});

t.test("it is killed while people look and edit, and comes back", async (t) => {
  let isOver = false;
  const statuses = new Map<number, number>();
  const look = async (node: number) => {
    while (!isOver) {
      const [tile, made] = await Promise.all([
        tileOf(node),
        server.api("POST", "m/layers/l/objects/", {
          token,
          node,
          body: { fields: {}, geom: square(30, 30, 0.1) },
        }),
      ]);
      for (const { status } of [tile, made]) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await pause(20);
    }
  };
  const people = [look(0), look(1), look(0), look(1)];
  await pause(500);
  await pooler.kill();
  await pause(1_000);
  await pooler.start();
  await waitFor(
    async () => (await server.api("GET", "m/layers/l/objects/?limit=1", { token })).status === 200,
  );
  isOver = true;
  await Promise.all(people);
  t.comment(Object.fromEntries(statuses));
  t.same(
    [...statuses.keys()].filter((status) => status !== 200 && status !== 503),
    [],
    "nothing is answered 500",
  );
  const before = (await tileOf(0)).body;
  await edit(1);
  await isFresh(t, before, "then");
});

t.test("its mode is changed while nodes run", async (t) => {
  for (const mode of ["session", "transaction"] as const) {
    pooler.change(mode);
    await pause(300);
    for (let n = 0; n < 4; n++) {
      const before = (await tileOf(0)).body;
      await edit(n % 2);
      await isFresh(t, before, `${mode}, edit ${n}`);
    }
  }
});

t.test("it leads to another database: nothing of that is shown", async (t) => {
  const other = await freshDatabase();
  t.teardown(() => other.drop());
  const before = await tileOf(0);
  pooler.change("transaction", settings, other.url);
  await pause(500);
  const list = async () => (await server.api("GET", "m/layers/l/objects/?limit=1", { token })).status;
  await waitFor(async () => (await list()) === 503);
  const made = await server.api("POST", "m/layers/l/objects/", {
    token,
    body: { fields: {}, geom: square(3, 3, 1) },
  });
  t.equal(made.status, 503);
  t.equal((await tileOf(1)).body, before.body, "what is known to be current");
  pooler.change("transaction", settings);
  await waitFor(async () => (await list()) === 200);
  await edit(0);
  await isFresh(t, before.body, "back at its own");
});
