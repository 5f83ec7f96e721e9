import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { freePort } from "../../bench/caches.js";
import { untilReady } from "../../bench/server.js";
import { startBalancer } from "../../bench/upgrade/balancer.js";
import { Crowd } from "../../bench/upgrade/crowd.js";
import { makeNewer } from "../../bench/upgrade/newer.js";
import { type ProgramNode, programIn } from "../../bench/upgrade/program.js";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { haveBaseMapIn } from "../support/base-map.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";

/** A version and the one after it, side by side behind a balancer while people work, and the way back. */

const database = await freshDatabase();
t.teardown(() => database.drop());
await haveBaseMapIn(database);
const dataDir = mkdtempSync(join(tmpdir(), "mapwright-side-by-side-"));
t.teardown(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));
const folder = makeNewer();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const db = openDatabase({ url: database.url, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
t.teardown(() => db.close());
const projectId = await createProject(db, { code: "p", languages: ["en"] });
await addMember(db, { login: "admin", password: "adminadmin", projectId, role: "admin" });

const digests = () => db.query("select name, digest from mapwright.function_file order by name");

const settings = {
  DATABASE_URL: database.url,
  REDIS_URL: testRedisUrl(),
  MAPWRIGHT_REDIS_PREFIX: freshPrefix(),
  MAPWRIGHT_DATA_DIR: dataDir,
  MAPWRIGHT_STOP_DRAIN_SECONDS: "2",
};
const older = programIn(process.cwd(), settings);
const newer = programIn(folder, settings);

t.test(
  "nodes of two versions side by side: nothing fails, is stale or gets lost, also on the way back",
  async (t) => {
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const [first, second, third] = ports as [number, number, number];
    const nodes = new Map<number, ProgramNode>();
    t.teardown(() => Promise.all([...nodes.values()].map((node) => node.stop())));
    const balancer = await startBalancer(ports);
    t.teardown(() => balancer.stop());
    const crowd = new Crowd(balancer.url);
    t.teardown(() => crowd.stop());
    const join = async (program: typeof older, port: number) => {
      const node = await program.start(port);
      nodes.set(port, node);
      crowd.nodes.add(node.url);
    };
    const leave = async (port: number) => {
      const node = nodes.get(port)!;
      await balancer.leave(port);
      await crowd.leave(node.url);
      await node.stop();
      nodes.delete(port);
    };
    await join(older, first);
    await untilReady(balancer.url);
    const layer = await crowd.prepare("admin", "adminadmin");
    crowd.start({ writers: 2, viewers: 1 });
    await crowd.go(20, 2_000);
    t.match(newer.run("upgrade", "--check"), /999_of_later\.sql +go on/);
    newer.run("upgrade");
    const functions = await digests();
    await crowd.go(20, 2_000);
    await join(newer, second);
    await crowd.go(80, 5_000);
    await leave(first);
    await crowd.go(20, 2_000);
    await join(older, third);
    await crowd.go(80, 5_000);
    await leave(second);
    await crowd.go(20, 2_000);
    await crowd.stop();
    t.same(crowd.failures, [], `of ${crowd.done} requests`);
    t.same(await digests(), functions, "the older version has left the functions of the newer one");
    t.same(crowd.stale, [], `of ${crowd.compared} edits that another node was asked for`);
    t.ok(crowd.compared > 0, `${crowd.compared}`);
    const rows = await db.query<{ name: string }>(
      `select substring((to_jsonb(o) - 'geom')::text from 'w[0-9]+-[0-9]+') as name from layers.l${layer} o`,
    );
    t.same(rows.map(({ name }) => name).sort(), [...crowd.acknowledged].sort(), "each edit is there once");
  },
);
