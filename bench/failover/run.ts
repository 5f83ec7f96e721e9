import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../src/config.js";
import { startLocalServices } from "../../src/local-services/services.js";
import { createLog } from "../../src/log.js";
import { type Node, startNode } from "../../src/node.js";
import { Crowd } from "./crowd.js";
import { Members, type Timing } from "./members.js";
import { makeProject } from "./project.js";

/**
 * `node dist/bench/failover/run.js [hosts|proxy] [kills]`: failovers of PostgreSQL with Patroni under writers and viewers. It needs Debian's
 * packages patroni, etcd-server and haproxy, takes some minutes, and is no part of `npm test`. Prints how long no edit was taken
 * with each, and in the end what was lost, done twice, or stale.
 */

const timing: Timing = { ttl: 20, loopWait: 2, retryTimeout: 5 };
const [way = "hosts", kills = "10"] = process.argv.slice(2);
if (way !== "hosts" && way !== "proxy") throw new Error("hosts or proxy?");

const log = createLog(process.env.LOG_LEVEL ?? "silent", "bench");
const dataDir = await mkdtemp(join(tmpdir(), "mapwright-failover-data-"));
const redis = await startLocalServices({ dataDir, log, durable: false, database: false });
const cluster = await Members.start(timing);
const nodes: Node[] = [];
let crowd: Crowd | undefined;
const print = (line: string) => process.stdout.write(`${line}\n`);

try {
  const config = loadConfig({
    environment: {},
    flags: {
      ...{ databaseUrl: cluster.urls[way], redisUrl: redis.redisUrl, redisPrefix: "f:", dataDir },
      ...{ host: "127.0.0.1", port: 0, "tiles.redrawHot": false, "tiles.packHot": false },
    },
  });
  await makeProject(config, log);
  for (let n = 0; n < 2; n++) nodes.push(await startNode(config, log));
  crowd = await Crowd.open(nodes.map(({ port }) => `http://127.0.0.1:${port}`));
  crowd.start({ writers: 8, viewers: 50 });
  await sleep(3_000);

  const change = async (name: string, act: () => unknown) => {
    await cluster.whole();
    await sleep(3_000);
    const before = await cluster.leader();
    crowd!.begin();
    const begun = performance.now();
    const following = cluster.leaderAfter(before).then(() => performance.now());
    await act();
    // Longer than Patroni takes for the loss of a machine.
    while (performance.now() - begun < 5_000 || !crowd!.hasWritten) {
      if (performance.now() - begun > 120_000) throw new Error(`no edit was taken again after: ${name}`);
      await sleep(200);
    }
    await sleep(2_000);
    print(`${name}: ${crowd!.told(begun, await following)}`);
  };
  const rejoin = async (act: (member: Awaited<ReturnType<Members["leader"]>>) => void, isHost: boolean) => {
    const member = await cluster.leader();
    act(member);
    if (isHost) setTimeout(() => cluster.startMember(member), 15_000 + 1_000 * timing.ttl);
  };
  const switchOver = () => change("planned switchover", () => cluster.switchOver());
  const crash = () =>
    change("PostgreSQL crashes", () => rejoin((member) => cluster.killPostgres(member), false));
  const loss = () => change("the host is lost", () => rejoin((member) => cluster.killHost(member), true));
  for (let n = 0; n < 3; n++) await switchOver();
  for (let n = 0; n < 3; n++) await crash();
  for (let n = 0; n < 2; n++) await loss();
  for (let n = 0; n < Number(kills); n++) await crash();
  await cluster.whole();
  await sleep(2_000);
  await crowd.stop();
  const rows = await cluster.sql<{ name: string }>(
    "mapwright",
    `select substring((to_jsonb(o) - 'geom')::text from 'w[0-9]+-[0-9]+') as name from layers.l${crowd.layerId} o`,
  );
  print(crowd.audit(rows.map(({ name }) => name)));
} finally {
  await crowd?.stop();
  await Promise.all(nodes.map((node) => node.stop(2_000)));
  await cluster.stop();
  await redis.stop();
  await rm(dataDir, { recursive: true, force: true });
}
process.exit();
