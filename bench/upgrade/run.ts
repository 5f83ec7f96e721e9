import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { startLocalServices } from "../../src/local-services/services.js";
import { createLog } from "../../src/log.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freePort } from "../caches.js";
import { untilReady } from "../server.js";
import { startBalancer } from "./balancer.js";
import { Crowd } from "./crowd.js";
import { buildOlder, commitBefore } from "./older.js";
import { type Program, type ProgramNode, programIn } from "./program.js";

/**
 * `node dist/bench/upgrade/run.js [commit …]`: from older versions to this one and back, behind HAProxy (Debian's package) while people
 * work. By default the commits 30, 60 and 120 before this one. It needs the history of the project, takes some minutes, and is no part
 * of `npm test`. Prints for each what failed, was stale or got lost.
 */

const log = createLog(process.env.LOG_LEVEL ?? "silent", "bench");
const print = (line: string) => process.stdout.write(`${line}\n`);
/** Requests that are answered while nothing changes. */
const between = 400;

const given = process.argv.slice(2);
const commits = given.length > 0 ? given : [30, 60, 120].flatMap((count) => commitBefore(count) ?? []);
if (commits.length === 0) print("This clone has no history.");
for (const commit of commits) {
  print(commit);
  const older = buildOlder(commit.split(" ")[0]!);
  try {
    for (const note of older.notes) print(`  ${note}`);
    await upgraded(older.folder);
  } catch (error) {
    print(`  ${(error as Error).message}`);
  } finally {
    older.remove();
  }
}
process.exit();

async function upgraded(folder: string): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-upgrade-data-"));
  const services = await startLocalServices({ dataDir: join(dataDir, "services"), log, durable: false });
  const settings = {
    DATABASE_URL: services.databaseUrl!,
    REDIS_URL: services.redisUrl!,
    MAPWRIGHT_DATA_DIR: dataDir,
  };
  const older = programIn(folder, settings);
  const newer = programIn(process.cwd(), settings);
  const ports = await Promise.all(Array.from({ length: 6 }, () => freePort()));
  const balancer = await startBalancer(ports);
  const crowd = new Crowd(balancer.url);
  const nodes: ProgramNode[] = [];
  const begin = async (program: Program) => {
    const node = await program.start(ports.shift()!);
    nodes.push(node);
    crowd.nodes.add(node.url);
  };
  /** The one that has been there the longest goes. */
  const leave = async () => {
    const node = nodes.shift()!;
    await balancer.leave(node.port);
    await crowd.leave(node.url);
    await sleep(500);
    await node.stop();
  };
  try {
    await begin(older);
    const db = openDatabase({
      ...{ url: settings.DATABASE_URL, connections: 1, statementTimeoutMs: 60_000, log },
    });
    const projectId = await createProject(db, { code: "p", languages: ["en"] });
    await addMember(db, { login: "admin", password: "adminadmin", projectId, role: "admin" });
    await untilReady(balancer.url);
    const layer = await crowd.prepare("admin", "adminadmin");
    await begin(older);
    crowd.start({ writers: 4, viewers: 3 });
    await crowd.go(between);
    const told = (what: string) =>
      print(
        `  ${what}: ${crowd.done} requests, ${crowd.failures.length} failed; ${crowd.acknowledged.length} edits, ` +
          `${crowd.compared} looked for at another node, ${crowd.stale.length} stale`,
      );
    print(`  ${newer.run("upgrade", "--check").trim().split("\n").at(-1)}`);
    const begun = performance.now();
    newer.run("upgrade");
    print(`  upgrade took ${Math.round(performance.now() - begun)} ms`);
    for (const [program, what] of [
      [newer, "to this version"],
      [older, "and back"],
    ] as const) {
      for (let n = 0; n < 2; n++) {
        await begin(program);
        await crowd.go(between);
        await leave();
        await crowd.go(between);
      }
      told(what);
    }
    await crowd.stop();
    const rows = await db.query<{ name: string }>(
      `select substring((to_jsonb(o) - 'geom')::text from 'w[0-9]+-[0-9]+') as name from layers.l${layer} o`,
    );
    await db.close();
    const names = new Set(rows.map(({ name }) => name));
    const lost = crowd.acknowledged.filter((name) => !names.has(name)).length;
    print(`  ${lost} edits lost, ${rows.length - names.size} done twice`);
    for (const line of [...crowd.failures.slice(0, 5), ...crowd.stale.slice(0, 5)]) print(`  ! ${line}`);
  } finally {
    await crowd.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    await balancer.stop();
    await services.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
