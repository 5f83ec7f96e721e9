import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import pg from "pg";
import t from "tap";
import { workLock } from "../../src/storage/advisory-locks.js";
import { Clusters } from "../support/clusters.js";
import { startNoting } from "../support/listening.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { startServer, waitFor } from "../support/server.js";

/**
 * What a node holds in the database is free within half a minute after its machine has lost power, or it stands still: its
 * row locks, the locks of its work, its sessions. A node that is suspended proves what it shows when it goes on.
 */

t.setTimeout(200_000);

/** Another machine: a network namespace, at the other end of a cable. */
class Machine {
  private readonly name = `mapwright${process.pid}`;
  /** Of networks that are there for measurements. */
  private readonly network = `198.18.${process.pid % 250}`;
  readonly here = `${this.network}.1`;
  readonly address = `${this.network}.2`;

  constructor() {
    const { name } = this;
    const ends = [`mwa${process.pid}`, `mwb${process.pid}`] as const;
    ip("netns", "add", name);
    ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1]);
    ip("link", "set", ends[1], "netns", name, "name", "cable");
    ip("addr", "add", `${this.here}/24`, "dev", ends[0]);
    ip("link", "set", ends[0], "up");
    ip("-n", name, "addr", "add", `${this.address}/24`, "dev", "cable");
    ip("-n", name, "link", "set", "lo", "up");
    ip("-n", name, "link", "set", "cable", "up");
  }

  /** How a program is started there. */
  get prefix(): readonly string[] {
    return ["ip", "netns", "exec", this.name];
  }

  /** From now on nothing comes from there, not even that a connection has ended. */
  losePower(): void {
    ip("-n", this.name, "link", "set", "cable", "down");
  }

  remove(): void {
    ip("netns", "del", this.name);
  }
}

const ip = (...args: readonly string[]) => execFileSync("ip", args, { stdio: "pipe" });

const machine = new Machine();
t.teardown(() => machine.remove());
const clusters = new Clusters(machine.here);
t.teardown(() => clusters.stop());
const cluster = await clusters.createWithSchema();
const urlAt = (host: string) => `postgresql://mapwright@${host}:${cluster.port}/mapwright`;

const hook = await startNoting();
t.teardown(() => hook.stop());
const shared = { "edge.kind": "hook", "edge.urls": [hook.url], "edge.repeatSeconds": 0 };
const redis = { redisUrl: testRedisUrl(), redisPrefix: freshPrefix() };

const server = await startServer({ databaseUrl: urlAt("127.0.0.1"), config: { ...shared, ...redis } });
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("editor");
await makeMap(server, "m");
const { id: layer } = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const places = { gone: 10, still: 60 };
const objects = {
  gone: await addObject(server, "a", square(places.gone, 10, 5), { map: "m" }),
  still: await addObject(server, "a", square(places.still, 10, 5), { map: "m" }),
};
const other = new pg.Client({ connectionString: urlAt("127.0.0.1") });
await other.connect();
t.teardown(() => other.end());

/** Starts a node that holds a row and the locks of all work. */
async function startLost(
  kind: keyof typeof objects,
  { prefix = [], config }: { readonly prefix?: readonly string[]; readonly config: object },
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const flags = { port: 0, dataDir: server.nodes[0]!.services.config.dataDir, ...shared, ...config };
  const [program, ...args] = [
    ...prefix,
    process.execPath,
    fileURLToPath(new URL("../support/lost-node.js", import.meta.url)),
    ...[JSON.stringify(flags), `layers.l${layer}`, String(objects[kind])],
  ];
  const child = spawn(program!, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  const [said] = (await once(child.stdout!, "data")) as [Buffer];
  return { child, port: Number(String(said)) };
}

const tile = { lon: 62, lat: 12, z: 5 };
const pathOf = (lon: number) => tileUrl(server, "m", { ...tile, lon }, "&base=0").slice(server.url.length);
const move = (kind: keyof typeof objects) =>
  api("PUT", `m/layers/a/objects/${objects[kind]}/`, {
    token,
    body: { geom: square(places[kind], -40, 5) },
  });
const leads = async () =>
  /^mapwright_edge_leads 1$/m.test(await (await fetch(`${server.url}/metrics`)).text());
/** Whether the lock of each work is free. */
async function areFree(): Promise<boolean> {
  for (const key of Object.values(workLock)) {
    if (key === workLock.cdn) continue;
    await other.query("begin");
    const { rows } = await other.query(`select pg_try_advisory_xact_lock(${key}) as free`);
    await other.query("rollback");
    if (!rows[0].free) return false;
  }
  return true;
}
/** Lets the other node lead: this one's connection with the lock is ended. */
const leadElsewhere = () =>
  waitFor(async () => {
    if (!(await leads())) return true;
    await cluster.sql(
      "mapwright",
      `select pg_terminate_backend(pid) from pg_locks
       where locktype = 'advisory' and objid::bigint = hashtext('mapwright edge')::bigint & 4294967295 and granted`,
    );
    return false;
  });

t.test("a machine that loses power", async (t) => {
  const lost = await startLost("gone", {
    prefix: machine.prefix,
    config: { databaseUrl: urlAt(machine.here), redisUrl: "redis://127.0.0.1:1", host: machine.address },
  });
  const sessions = async (): Promise<string[]> =>
    (
      await cluster.sql(
        "mapwright",
        `select distinct application_name as name from pg_stat_activity where client_addr = '${machine.address}' order by 1`,
      )
    ).map((row) => (row as { name: string }).name);
  t.equal((await fetch(`http://${machine.address}:${lost.port}${pathOf(places.gone)}`)).status, 200);
  t.same(await sessions(), ["mapwright", "mapwright listener", "mapwright render"]);
  await leadElsewhere();
  t.notOk(await areFree());
  machine.losePower();
  lost.child.kill("SIGKILL");
  const since = performance.now();
  await Promise.all([
    move("gone").then(({ status }) => t.equal(status, 200, "what it was writing can be written")),
    waitFor(leads),
    waitFor(areFree),
    waitFor(async () => (await sessions()).length === 0),
  ]);
  t.comment(`after ${Math.round(performance.now() - since)} ms`);
});

t.test("a process that stands still, and goes on", async (t) => {
  const still = await startLost("still", {
    config: { databaseUrl: urlAt("127.0.0.1"), host: "127.0.0.1", ...redis },
  });
  const url = `http://127.0.0.1:${still.port}${pathOf(tile.lon)}`;
  const painted = async (answer: Response) =>
    (await picture(Buffer.from(await answer.arrayBuffer()))).painted;
  for (let times = 0; times < 3; times++) t.not(await painted(await fetch(url)), 0);
  await leadElsewhere();
  t.notOk(await areFree());
  still.child.kill("SIGSTOP");
  const since = performance.now();
  await Promise.all([
    move("still").then(({ status }) => t.equal(status, 200, "what it was writing can be written")),
    waitFor(leads),
    waitFor(areFree),
  ]);
  t.comment(`after ${Math.round(performance.now() - since)} ms`);
  // Its kernel takes the request meanwhile.
  const asked = fetch(url);
  await new Promise((resolve) => setTimeout(resolve, 200));
  still.child.kill("SIGCONT");
  t.equal(await painted(await asked), 0, "the first that it shows is what is there now");
});
