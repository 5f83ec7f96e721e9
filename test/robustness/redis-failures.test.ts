import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { keptLog } from "../support/log-lines.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { RedisServers } from "../support/redis-servers.js";
import { startServer, waitFor } from "../support/server.js";

/** What people notice of a Redis that fails: no wrong tile, no wait, and it is told to who runs the server. */

const servers = await RedisServers.create();
const own = await servers.start();
const { log, lines } = keptLog();
const server = await startServer({ nodes: 2, config: { redisUrl: own.url }, log });
t.teardown(async () => {
  await server.stop();
  await servers.stop();
});
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
for (const lon of [-170, -30]) await addObject(server, "a", square(lon, -70, 140), { map: "m" });
const edited = await makeStyledLayer(server, "m", "b", "#b { polygon-fill: #00f; }");
const token = await server.token("editor");
lines.length = 0;

const health = async () => (await (await fetch(`${server.url}/health/ready`)).json()) as any;
const said = () => lines.filter(({ msg }) => msg.includes("Redis")).map(({ msg }) => msg);
const signIn = async () =>
  (await server.api("POST", "login/", { body: { user: "editor", pass: "editoreditor" } })).json.token;
/** A user who is signed in, and has got a link for another password. */
async function invited(): Promise<() => Promise<number>> {
  const admin = await server.token("admin");
  await server.api("POST", "login/", { body: { user: "viewer", pass: "viewerviewer" } });
  const members: { id: number; login: string }[] = (await server.api("GET", "members/", { token: admin }))
    .json;
  const { id } = members.find(({ login }) => login === "viewer")!;
  const { invitation } = (await server.api("POST", `members/${id}/invitation/`, { token: admin })).json;
  const body = { invitation, password: "viewerviewer" };
  return async () => (await server.api("POST", "invitation/", { body })).status;
}
const saved = async () => join(((await own.cli.config("GET", "dir")) as string[])[1]!, "dump.rdb");
let places = 0;
let edits = 0;

/** A tile that nobody has asked for, on a node: its colour in the middle, and the ms that it took. */
async function coldTile(node: number) {
  const z = 7;
  places++;
  const start = performance.now();
  const answer = await fetch(tileUrl(server, "m", { lon: -160 + 3 * places, lat: 10, z }, "", node));
  const bytes = Buffer.from(await answer.arrayBuffer());
  const ms = performance.now() - start;
  return { status: answer.status, ms, colour: (await picture(bytes)).at(128, 128) };
}

/** An edit, past the API, which wants a session: after it both nodes show it. */
async function editAndSee(t: Test) {
  const lat = -60 + 3 * edits++;
  const geom = JSON.stringify(square(100, lat, 1));
  const start = performance.now();
  await server.sql.query(
    `insert into layers.l${edited.id} (geom) values (st_setsrid(st_geomfromgeojson($1), 4326))`,
    [geom],
  );
  await server.nodes[0]!.services.changes.propagate();
  const ms = performance.now() - start;
  for (const node of [0, 1]) {
    const tile = await fetch(
      tileUrl(server, "m", { lon: 100.5, lat: lat + 0.5, z: 10 }, `&layers=${edited.id}`, node),
    );
    const image = await picture(Buffer.from(await tile.arrayBuffer()));
    t.same(image.at(128, 128).slice(0, 3), [0, 0, 255], `node ${node} shows it`);
  }
  return ms;
}

/** Two tiles of both nodes, and an edit, with what they took. */
async function goesOn(t: Test) {
  for (let round = 0; round < 3; round++)
    for (const node of [0, 1]) {
      const tile = await coldTile(node);
      t.equal(tile.status, 200);
      t.same(tile.colour, [255, 0, 0, 255]);
      t.comment(`cold tile: ${Math.round(tile.ms)} ms`);
    }
  t.comment(`edit: ${Math.round(await editAndSee(t))} ms`);
}

t.test("all is well", async (t) => {
  await goesOn(t);
  t.equal((await health()).status, "ready");
});

for (const [name, fail, mend, hint] of [
  ["hangs", () => own.pause(), () => own.resume(), /does not answer/],
  [
    "is full",
    () =>
      own.cli
        .config("SET", "maxmemory-policy", "noeviction")
        .then(() => own.cli.config("SET", "maxmemory", "1")),
    () => own.cli.config("SET", "maxmemory", "0"),
    /is full/,
  ],
  [
    "is a read-only replica",
    () => own.cli.replicaof("127.0.0.1", 1),
    () => own.cli.call("REPLICAOF", "NO", "ONE"),
    /read-only replica/,
  ],
  [
    "cannot write to its disk",
    async () => {
      // Its file cannot be put in the place of a folder.
      await mkdir(await saved());
      await own.cli.config("SET", "save", "3600 1");
      await own.cli.bgsave();
      await waitFor(async () => (await own.cli.info("persistence")).includes("last_bgsave_status:err"));
    },
    async () => {
      await rm(await saved(), { recursive: true });
      await own.cli.config("SET", "save", "");
    },
    /cannot write to its disk/,
  ],
  ["is killed", () => own.kill(), () => own.start(), /cannot be reached/],
] as const)
  t.test(`a Redis that ${name}`, async (t) => {
    lines.length = 0;
    const { key } = (await server.api("POST", "m/tile-key/", { token: await signIn(), body: {} })).json;
    const accept = await invited();
    await fail();
    await goesOn(t);
    await waitFor(async () => (await health()).status === "degraded");
    t.match(await health(), { checks: { redis: false, database: true }, hint });
    const start = performance.now();
    const answer = await server.api("GET", "m/layers/", { token });
    const byKey = await server.nodes[0]!.services.tileKeys.find(key, undefined).catch(() => undefined);
    t.comment(`with a token: ${answer.status} after ${Math.round(performance.now() - start)} ms`);
    const goesOnSignedIn = ["is full", "cannot write to its disk"].includes(name);
    t.equal(answer.status, goesOnSignedIn ? 200 : 503, "what cannot be checked is refused");
    t.equal(byKey !== undefined, goesOnSignedIn, "nor a key for tiles that was not used before");
    const chosen = await accept();
    t.ok([200, 503].includes(chosen), `a password is chosen, or not now: ${chosen}`);
    await mend();
    const mended = performance.now();
    await waitFor(async () => (await health()).status === "ready");
    t.equal(await accept(), chosen === 200 ? 403 : 200, "the link is used up by who has chosen one");
    t.comment(`ready after ${Math.round(performance.now() - mended)} ms`);
    await waitFor(() => said().filter((line) => line.includes("is back")).length === 2);
    t.equal(said().filter((line) => !line.includes("is back")).length, 2, "one line of each node");
    t.equal(
      (await server.api("GET", "m/layers/", { token })).status,
      name === "is killed" ? 401 : 200,
      "sessions that it has kept go on",
    );
    await goesOn(t);
  });

t.test("a Redis that is emptied", async (t) => {
  await own.cli.flushall();
  await goesOn(t);
  t.equal((await health()).status, "ready");
});
