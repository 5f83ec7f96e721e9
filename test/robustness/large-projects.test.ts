import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import t from "tap";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { layersBoxes } from "../../src/features/bbox.js";
import { makeLayers, makeVirtualLayers } from "../support/layers.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** A project of 3,000 layers: more tables than one transaction has room for locks on. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const { db } = server.nodes[0]!.services;
const token = await server.token("editor");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
await addObject(server, "l", square(0, 0, 40), { map: "m" });

const other = new pg.Client({ connectionString: server.database.url });
await other.connect();
await other.query("set search_path = mapwright, public");
t.teardown(() => other.end());
const big = await createProject(db, { code: "big" });
const halves = await Promise.all(
  [sql, other].map(async (client, at) => {
    const map = await createMap(db, big, { code: `half${at}` });
    const tables = await makeLayers(client, map, 900);
    return [...tables, ...(await makeVirtualLayers(client, map, tables.slice(0, 600)))];
  }),
);
const layers = halves.flat();

const layersLeft = async (): Promise<number> => {
  const { rows } = await sql.query(
    "select count(*)::int as n from unnest($1::bigint[]) id where to_regclass('layers.l' || id) is not null",
    [layers],
  );
  return rows[0].n;
};

/** Reads and writes of the other project, one after the other in each of some clients, until `stop`. */
function startClients() {
  let stopped = false;
  const failures: string[] = [];
  let answers = 0;
  const note = (what: string, answer: { readonly status: number; readonly text: string }) => {
    answers++;
    if (answer.status !== 200) failures.push(`${what}: ${answer.status} ${answer.text.slice(0, 200)}`);
  };
  const requests: ((turn: number) => Promise<void>)[] = [
    async () => note("list", await api("GET", "m/layers/l/objects/?fields=*&returnGeom=1&limit=20")),
    async () => note("tree", await api("GET", "m/layers/?returnBbox=1")),
    async (turn) => {
      const body = { fields: {}, geom: square((turn % 30) - 15, (turn % 40) - 20, 1) };
      return note("write", await api("POST", "m/layers/l/objects/", { token, body }));
    },
    async (turn) => {
      const place = { lon: (turn * 7) % 40, lat: (turn * 3) % 40, z: 6 + (turn % 5) };
      const answer = await fetch(tileUrl(server, "m", place, `&base=0&layers=${layer.id}`));
      await answer.arrayBuffer();
      return note("tile", { status: answer.status, text: "" });
    },
  ];
  const running = requests.map(async (request, first) => {
    for (let turn = first; !stopped; turn++) {
      await request(turn);
      await pause(20);
    }
  });
  return {
    failures,
    get answers() {
      return answers;
    },
    stop: async () => {
      stopped = true;
      await Promise.all(running);
    },
  };
}

/** Looks again and again how many locks one transaction holds, until it is stopped; then it gives the most. */
function watchLocks() {
  let stopped = false;
  const most = (async () => {
    let found = 0;
    while (!stopped) {
      const { rows } = await other.query(
        "select count(*)::int as n from pg_locks group by pid order by 1 desc",
      );
      found = Math.max(found, rows[0].n);
      await pause(5);
    }
    return found;
  })();
  return {
    stop: (): Promise<number> => {
      stopped = true;
      return most;
    },
  };
}

t.test("its boxes are found", async (t) => {
  const boxed = layers.map((id) => ({ id, type: "layer", raster: null }) as const);
  const boxes = await layersBoxes(db, boxed);
  t.equal(boxes.size, 3_000);
});

t.test("it is deleted while others read and write, though who deletes it is killed", async (t) => {
  const clients = startClients();
  const locks = watchLocks();
  const { config } = server.nodes[0]!.services;
  const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const command = spawn(process.execPath, [program, "project", "delete", "big", "--yes"], {
    env: {
      PATH: process.env.PATH ?? "",
      DATABASE_URL: config.databaseUrl,
      MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
      REDIS_URL: config.redisUrl,
      MAPWRIGHT_DATA_DIR: config.dataDir,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  t.teardown(() => command.kill("SIGKILL"));
  let told = "";
  command.stderr.setEncoding("utf8").on("data", (text: string) => {
    told += text;
  });
  const ended = new Promise<void>((resolve) => command.once("exit", () => resolve()));
  await Promise.race([ended, waitFor(() => told.includes("was deleted"))]);
  t.match(told, /Project big was deleted/);
  const gone = await fetch(`${server.url}/api/2.8/big/half0/`);
  t.match(await gone.json(), { code: "project_not_found" });
  t.ok(await createProject(db, { code: "big" }), "its code is free");

  while ((await layersLeft()) > 2_000) await pause(50);
  command.kill("SIGKILL");
  await ended;
  t.ok((await layersLeft()) > 0, "it was killed before its end");
  while ((await layersLeft()) > 0) await pause(50);
  await waitFor(async () => (await sql.query("select from map where project_id = 0")).rowCount === 0);
  await clients.stop();

  t.same(clients.failures, []);
  t.ok(clients.answers > 50, `${clients.answers} answers to others`);
  const most = await locks.stop();
  t.ok(most > 100 && most < 3_000, `${most} locks at a time`);
  t.equal((await api("GET", "m/layers/l/count/?precise=1")).status, 200);
});
