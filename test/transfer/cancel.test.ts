import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { removeAll } from "../../src/catalog/removal.js";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { sweepStaging } from "../../src/import/staging.js";
import { testRedisUrl } from "../support/redis.js";
import { collection, failureOf, feature, importBench } from "../support/transfer.js";

/** Imports that are cancelled, or whose process is killed, at each step: nothing is left of them. */

const bench = await importBench();
t.teardown(() => bench.stop());
const { db } = bench;
await bench.transfer.whenReady();
const folder = dirname(bench.file(""));
const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));

/** A file that never ends: nobody writes to it. */
const endless = join(folder, "endless.geojson");
execFileSync("mkfifo", [endless]);
const plain = bench.file(collection(feature({})));
const whole = bench.file(collection(feature({ fresh: 1 })));

const count = async (text: string) => (await db.query(text)).length;
const stagingTables = "select from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r'";
const waiting = (relation: string) =>
  `select from pg_locks where relation = '${relation}'::regclass and not granted and database = (select oid from pg_database where datname = current_database())`;

/** The processes that this one has started. */
const childrenOf = (pid: number): string[] =>
  readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/stat`, "latin1").split(") ").at(-1)!.split(" ")[1] === String(pid);
    } catch {
      return false;
    }
  });

/** Holds a lock while `work` runs. */
async function holding(lock: string, work: (release: () => Promise<void>) => Promise<void>): Promise<void> {
  const client = await db.dedicated();
  await client.query("begin");
  await client.query(`lock table ${lock}`);
  const release = async () => void (await client.query("rollback"));
  try {
    await work(release);
  } finally {
    await client.end();
  }
}

/** Waits for as long as a busy machine may need. */
async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition did not become true within a minute");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** How an import is held at a step, and how it is known to be there. */
interface Step {
  readonly file: string;
  readonly lock: (table: string) => string;
  readonly isReached: (table: string) => Promise<boolean>;
}
const steps: Readonly<Record<string, Step>> = {
  reading: {
    file: endless,
    lock: () => "column_constraint in access share mode",
    isReached: async () => (await count(stagingTables)) > 0,
  },
  checking: {
    file: whole,
    lock: () => "column_constraint in access exclusive mode",
    isReached: async () => (await count(waiting("column_constraint"))) > 0,
  },
  "adding columns": {
    file: whole,
    lock: (table) => `${table} in share row exclusive mode`,
    isReached: async (table) => (await count(`${waiting(table)} and mode = 'AccessExclusiveLock'`)) > 0,
  },
  writing: {
    file: plain,
    lock: (table) => `${table} in share row exclusive mode`,
    isReached: async (table) => (await count(waiting(table))) > 0,
  },
};

t.test("an import that is cancelled ends at once, and the layer is as before", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const table = `layers.l${layer}`;
  const before = await bench.state(layer);
  for (const [name, { file, lock, isReached }] of Object.entries(steps)) {
    await holding(lock(table), async (release) => {
      const controller = new AbortController();
      const source = { files: [{ path: file, name: file }], action: "replace" } as const;
      const failing = failureOf(
        importIntoLayer(bench.deps, { layerId: layer, language: "en" }, source, {
          signal: controller.signal,
        }),
      );
      await waitFor(() => isReached(table));
      controller.abort(new Error("cancelled by the test"));
      // Columns that were added for it are dropped when the table is free.
      await waitFor(async () => (await count(`${waiting(table)} and mode <> 'AccessExclusiveLock'`)) === 0);
      await release();
      t.match(await failing, { message: "cancelled by the test" }, name);
    });
    t.equal(await bench.state(layer), before, name);
  }
  t.match(await bench.import(layer, collection(feature({ a: 2 }))), { inserted: 1 }, "the next import works");
});

t.test("an import that waits for another one of the layer can be cancelled", async (t) => {
  const layer = await bench.layer();
  await holding("column_constraint in access exclusive mode", async (release) => {
    const first = bench.import(layer, collection(feature({ a: 1 })));
    await waitFor(async () => (await count(waiting("column_constraint"))) > 0);
    const controller = new AbortController();
    const files = [{ path: whole, name: whole }];
    let hasRead = false;
    const second = failureOf(
      importIntoLayer(
        bench.deps,
        { layerId: layer, language: "en" },
        { files, action: "merge" },
        {
          signal: controller.signal,
          onProgress: ({ phase }) => {
            hasRead ||= phase === "checking";
          },
        },
      ),
    );
    await waitFor(() => hasRead);
    // Behind a pooler it asks again and again.
    if (!db.isPooled)
      await waitFor(
        async () => (await count("select from pg_locks where locktype = 'advisory' and not granted")) > 0,
      );
    controller.abort(new Error("cancelled by the test"));
    t.match(await second, { message: "cancelled by the test" });
    await release();
    t.match(await first, { inserted: 1 });
  });
});

t.test("files in the queue are not hurt when the one before them is cancelled", async (t) => {
  const layer = await bench.layer();
  const controller = new AbortController();
  const files = [{ path: endless, name: endless }];
  const first = failureOf(
    importIntoLayer(
      bench.deps,
      { layerId: layer, language: "en" },
      { files, action: "merge" },
      { signal: controller.signal },
    ),
  );
  await waitFor(async () => (await count(stagingTables)) > 0);
  const second = bench.import(layer, collection(feature({ a: 1 })));
  await waitFor(() => bench.transfer.counts().waiting === 1);
  controller.abort(new Error("cancelled by the test"));
  t.match(await first, { message: "cancelled by the test" });
  t.match(await second, { inserted: 1 });
});

t.test("a command that is ended leaves no layer, no column and no file", async (t) => {
  const env = {
    PATH: process.env.PATH ?? "",
    DATABASE_URL: db.directUrl,
    REDIS_URL: testRedisUrl(),
    MAPWRIGHT_DATA_DIR: folder,
  };
  const codes = async () =>
    (
      await db.query<{ code: string }>(
        "select node.code from node join map on map.id = map_id where project_id <> 0",
      )
    ).map(({ code }) => code);
  const before = await codes();
  const newest = async () =>
    (await db.query<{ name: string }>("select 'layers.l' || max(id) as name from layer"))[0]!.name;
  for (const [name, { file, lock, isReached }] of Object.entries(steps)) {
    const gentle = name === "checking" ? (["SIGTERM", 143] as const) : (["SIGINT", 130] as const);
    for (const [signal, status] of [gentle, ["SIGKILL", null] as const]) {
      const what = `${signal} while ${name}`;
      const pipe = join(folder, "pipe.geojson");
      execFileSync("mkfifo", [pipe]);
      const args = [program, "import", "p", "m", "made", pipe];
      const child = spawn(process.execPath, args, { env, stdio: "ignore" });
      t.teardown(() => child.kill("SIGKILL"));
      const exit = once(child, "exit");
      await waitFor(() => steps.reading!.isReached(""));
      const table = await newest();
      let hosts: string[] = [];
      await holding(lock(table), async (release) => {
        if (file !== endless) await writeFile(pipe, await readFile(file));
        await waitFor(() => isReached(table));
        t.same(await codes(), before, `${what}: the layer is not seen before it is whole`);
        hosts = childrenOf(child.pid!);
        child.kill(signal);
        if (signal !== "SIGKILL")
          await waitFor(
            async () => (await count(`${waiting(table)} and mode <> 'AccessExclusiveLock'`)) === 0,
          );
        await release();
      });
      t.same(await exit, signal === "SIGKILL" ? [null, signal] : [status, null], what);
      t.ok(hosts.length > 0, `${what}: it had a host`);
      // Also one that is in the middle of a call of the system.
      await waitFor(() => hosts.every((pid) => !existsSync(`/proc/${pid}`)));
      if (signal === "SIGKILL") {
        // What a killed process left is removed by the next server.
        await waitFor(async () => {
          await sweepStaging(db);
          return (await count(stagingTables)) === 0;
        });
        await removeAll(db);
      }
      t.same(await codes(), before, what);
      t.equal(await count("select from map where project_id = 0"), 0, what);
      t.equal(await count(stagingTables), 0, what);
      t.equal(
        await count(`select from pg_class where oid = to_regclass('${table}')`),
        0,
        `${what}: no table`,
      );
      await rm(pipe);
      const left = readdirSync(join(folder, "tmp")).length;
      // The folder of a killed import is swept after a day.
      t.equal(left, signal === "SIGKILL" ? 1 : 0, `${what}: files`);
      if (left > 0) execFileSync("rm", ["-r", join(folder, "tmp")]);
    }
  }
});

t.test("an import whose folder cannot be removed is done, and the next one has its turn", async (t) => {
  const id = await bench.layer();
  const [folders, away] = [join(folder, "tmp"), join(folder, "away")];
  const source = { files: [{ path: plain, name: "plain.geojson" }], action: "merge" } as const;
  const target = { layerId: id, language: "en" };
  const imported = await importIntoLayer(bench.deps, target, source, {
    onWritten: async () => {
      await rename(folders, away);
      await writeFile(folders, "");
    },
  });
  t.equal(imported.rows, 1);
  await rm(folders);
  await rename(away, folders);
  await importIntoLayer(bench.deps, target, source);
  t.equal((await bench.objects(id)).length, 2);
});
