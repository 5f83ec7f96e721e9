import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { addMember } from "../../src/access/accounts.js";
import { createLayer } from "../../src/catalog/layers.js";
import { removeAll } from "../../src/catalog/removal.js";
import { loadConfig } from "../../src/config.js";
import { sweepImportFolders } from "../../src/import/import-folder.js";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { importIntoNewLayer } from "../../src/import/import-new-layer.js";
import { sweepStaging } from "../../src/import/staging.js";
import { Nodes } from "../../src/serve/nodes.js";
import { freePort } from "../http/harness.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { waitFor } from "../support/server.js";
import { stepsKey, watchSteps } from "../support/steps.js";
import { collection, failureOf, feature, importBench, point } from "../support/transfer.js";

/** Processes that are killed while an import is at each of its steps: the layer has its old objects, or all new ones. */

const bench = await importBench();
t.teardown(() => bench.stop());
const { db } = bench;
const steps = await watchSteps(db);
t.teardown(() => steps.stop());
const { dataDir } = bench.deps.config;
const tempDir = join(dataDir, "tmp");

const rows = (count: number, from: number, extra = {}) =>
  collection(
    ...Array.from({ length: count }, (_, n) => feature({ n: from + n, ...extra }, point(n % 170, n % 80))),
  );
const small = bench.file(rows(3, 1_000, { fresh: "x" }));
/** Enough rows for a new table that takes the place of the layer's. */
const large = bench.file(rows(5_000, 1_000, { fresh: "x" }));
const source = (path: string, action: "merge" | "replace") => ({ files: [{ path, name: path }], action });
const target = (layerId: number) => ({ layerId, language: "en" });

const merge = { name: "a merge", file: small, action: "merge", objects: 5 } as const;
const replacement = { name: "a large replacement", file: large, action: "replace", objects: 5_000 } as const;
/** With the distance of the steps that are tried: an import has some ten, a large one or one into a new layer over thirty. */
const kinds = [
  { ...merge, stride: 3 },
  { name: "a replacement", file: small, action: "replace", objects: 3, stride: 5 },
  { ...replacement, stride: 9 },
] as const;

/** A layer with two objects. */
async function filled(code?: string): Promise<number> {
  const layer = code === undefined ? await bench.layer() : (await createLayer(db, bench.mapId, { code })).id;
  await bench.import(layer, rows(2, 0));
  return layer;
}
const objectsOf = async (layer: number) =>
  (await db.query<{ count: number }>(`select count(*)::int as count from layers.l${layer}`))[0]!.count;
const terminate = async (backend: number) =>
  void (await db.query("select pg_terminate_backend($1)", [backend]));
/** What the next start of the server does. */
async function restart(): Promise<void> {
  await waitFor(
    async () =>
      (
        await db.query(
          "select from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()",
        )
      ).length === 0,
  );
  await sweepStaging(db);
  await removeAll(db);
  for (const name of readdirSync(tempDir)) utimesSync(join(tempDir, name), 1, 1);
  await sweepImportFolders(tempDir);
}
const hidden = () => db.query("select from map where project_id = 0");
const tables = async () =>
  (
    await db.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace in ('layers'::regnamespace, 'staging'::regnamespace) and relkind = 'r' order by 1",
    )
  ).map(({ name }) => name);

const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));
const env = {
  PATH: process.env.PATH ?? "",
  DATABASE_URL: db.directUrl,
  REDIS_URL: testRedisUrl(),
  MAPWRIGHT_DATA_DIR: dataDir,
};

t.test("a database connection that ends, at each step", async (t) => {
  for (const { name, file, action, objects, stride } of kinds) {
    let layer = await filled();
    let before = await bench.state(layer);
    let failures = 0;
    for (let step = 1, isReached = true; isReached; step += stride) {
      let ended: Promise<{ code: unknown }> | undefined;
      isReached = await steps.hold(
        step,
        () => (ended = failureOf(importIntoLayer(bench.deps, target(layer), source(file, action)))),
        terminate,
      );
      const what = `${name}, step ${step}`;
      const { code } = await ended!;
      t.same(readdirSync(tempDir), [], `${what}: no file`);
      if (code === "none") {
        t.equal(await objectsOf(layer), objects, `${what}: all new objects`);
        await restart();
        layer = await filled();
        before = await bench.state(layer);
        continue;
      }
      failures++;
      t.equal(await bench.state(layer), before, `${what}: the layer is as before`);
    }
    t.ok(failures > 1, `${name}: ${failures} steps`);
  }
});

t.test("the connection that holds the locks", async (t) => {
  const layer = await filled();
  const before = await bench.state(layer);
  let ended: Promise<{ code: unknown }> | undefined;
  const work = () => (ended = failureOf(importIntoLayer(bench.deps, target(layer), source(small, "merge"))));
  t.ok(
    await steps.hold(4, work, async () => {
      const holders = await db.query<{ pid: number }>(
        `select distinct l.pid from pg_locks l join pg_stat_activity a using (pid)
         where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and a.datname = current_database()
           and l.objid <> $1`,
        [stepsKey],
      );
      t.equal(holders.length, 1);
      await terminate(holders[0]!.pid);
    }),
  );
  t.match(await ended!, { code: "busy" });
  await restart();
  t.equal(await bench.state(layer), before);
});

t.test("a database connection that ends, while a new layer is made", async (t) => {
  const before = await tables();
  for (let step = 1, isReached = true; isReached; step += 9) {
    let ended: Promise<{ code: unknown }> | undefined;
    isReached = await steps.hold(
      step,
      () =>
        (ended = failureOf(
          importIntoNewLayer(
            bench.deps,
            { mapId: bench.mapId, code: `new${step}`, language: "en" },
            source(small, "merge"),
          ),
        )),
      terminate,
    );
    const { code } = await ended!;
    await restart();
    const shown = await db.query<{ id: number }>("select id from node where code = $1", [`new${step}`]);
    t.equal(shown.length, code === "none" ? 1 : 0, `step ${step}: ${code}`);
    if (code === "none") {
      t.equal(await objectsOf(shown[0]!.id), 3);
      before.push(`l${shown[0]!.id}`);
    }
    t.same(await tables(), before.toSorted(), `step ${step}: no table`);
    t.same(await hidden(), []);
  }
});

t.test("the process that reads the file", async (t) => {
  const layer = await filled();
  const before = await bench.state(layer);
  for (const [step, wanted] of [
    [1, "busy"],
    // The file has been read.
    [3, "none"],
  ] as const) {
    await bench.transfer.whenReady();
    let ended: Promise<{ code: unknown }> | undefined;
    const kill = () => void process.kill(bench.transfer.pid!, "SIGKILL");
    const work = () =>
      (ended = failureOf(importIntoLayer(bench.deps, target(layer), source(small, "replace"))));
    t.ok(await steps.hold(step, work, kill));
    t.match(await ended!, { code: wanted });
    if (wanted !== "none") t.equal(await bench.state(layer), before, `step ${step}`);
    else t.equal(await objectsOf(layer), 3);
  }
});

t.test("the command", async (t) => {
  for (const [{ name, file, action, objects }, step] of [
    [merge, 2],
    [replacement, 12],
  ] as const) {
    const code = `c${step}`;
    const layer = await filled(code);
    const before = await bench.state(layer);
    const args = [program, "import", "p", "m", code, file, "--action", action];
    const child = spawn(process.execPath, args, { env, stdio: "ignore" });
    t.teardown(() => child.kill("SIGKILL"));
    const exit = once(child, "exit");
    const kill = async () => {
      child.kill("SIGKILL");
      await exit;
    };
    t.ok(await steps.hold(step, () => exit, kill));
    await restart();
    // A statement that has begun goes on, though nobody waits for it.
    if ((await bench.state(layer)) !== before)
      t.equal(await objectsOf(layer), objects, `${name}, step ${step}: all new objects`);
    t.same(readdirSync(tempDir), []);
  }
});

t.test("the node that runs an import as a job", async (t) => {
  const [project] = await db.query<{ id: number }>("select id from project where code = 'p'");
  await addMember(db, { login: "ann", password: "secret of ann", projectId: project!.id, role: "admin" });
  const port = await freePort();
  const config = loadConfig({
    environment: {},
    flags: {
      databaseUrl: db.directUrl,
      redisUrl: testRedisUrl(),
      redisPrefix: freshPrefix(),
      host: "127.0.0.1",
      port,
      dataDir,
    },
  });
  const nodes = new Nodes({ ...config, logLevel: "silent" }, quietLog);
  t.teardown(() => nodes.stop(1_000));
  await nodes.start();
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/2.8/p/${path}`, init);
    return (await answer.json()) as any;
  };
  const login = { method: "POST", body: new URLSearchParams({ user: "ann", pass: "secret of ann" }) };
  const { token } = await ask("login/", login);
  const layer = await filled("job");
  const before = await bench.state(layer);
  const body = JSON.stringify(rows(3, 1_000, { fresh: "x" }));
  await jobs(t, { layer, before, body, token, ask, nodes });
});

interface JobBench {
  readonly layer: number;
  readonly before: string;
  readonly body: string;
  readonly token: string;
  readonly ask: (path: string, init?: RequestInit) => Promise<any>;
  readonly nodes: Nodes;
}

async function jobs(t: Test, { layer, before, body, token, ask, nodes }: JobBench): Promise<void> {
  const headers = { "x-token": token, "content-type": "application/json" };
  const step = 12;
  let job: any;
  const start = async () => {
    job = await ask("m/layers/job/import/?async=1", { method: "POST", headers, body });
    // The work is the job's.
    await new Promise((resolve) => setTimeout(resolve, 20_000).unref());
  };
  const [pid] = nodes.pids();
  t.ok(await steps.hold(step, start, () => void process.kill(pid!, "SIGKILL")), `step ${step}`);
  await waitFor(() => nodes.pids().length === 1 && nodes.pids()[0] !== pid);
  await restart();
  t.equal(await bench.state(layer), before, `step ${step}: the layer is as before`);
  await db.execute("update import_job set seen_at = now() - interval '1 minute' where state = 'running'");
  let told: any;
  await waitFor(async () => {
    told = await ask(`m/layers/job/import/${job.id}/`, { headers }).catch(() => undefined);
    return told !== undefined;
  });
  t.match(told, { state: "failed", error: { code: "import_failed", data: { interrupted: true } } });
}
