import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import t from "tap";
import { AlreadyRunning } from "../../src/local-services/lock.js";
import {
  ensureLocalServices,
  type LocalServices,
  startLocalServices,
} from "../../src/local-services/services.js";
import { quietLog } from "../support/log.js";

// As root the parent folder is closed to the services' users, as /root is.
const parent = mkdtempSync(join(tmpdir(), "mapwright-local-"));
chmodSync(parent, 0o700);
t.teardown(() => rmSync(parent, { recursive: true, force: true }));

const start = (name: string, part: { database?: boolean; redis?: boolean } = {}): Promise<LocalServices> =>
  startLocalServices({ dataDir: join(parent, name), log: quietLog, durable: false, ...part });

async function rows(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function withRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: null });
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Tries again until it succeeds, for 30 s at most. */
async function eventually<T>(work: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 30_000; ; ) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0] !== "Z";
  } catch {
    return false;
  }
}

/** A process of its own that starts the services in `name` and tells when they run. */
async function startElsewhere(name: string): Promise<{ child: ChildProcess; pids: number[] }> {
  const code = `
    const { startLocalServices } = await import(${JSON.stringify(new URL("../../src/local-services/services.js", import.meta.url).href)});
    const { createLog } = await import(${JSON.stringify(new URL("../../src/log.js", import.meta.url).href)});
    const services = await startLocalServices({ dataDir: process.argv[1], log: createLog("silent", "x"), durable: false });
    console.log(JSON.stringify(services.pids()));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code, join(parent, name)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout as NodeJS.EventEmitter, "data")) as [Buffer];
  return { child, pids: JSON.parse(String(line)) as number[] };
}

t.test("private services keep what was written over a restart", async (t) => {
  const first = await start("kept");
  t.teardown(() => first.stop());
  await rows(first.databaseUrl!, "create schema layers; create table layers.a as select 7 as n");
  await first.stop();
  t.notOk(existsSync(join(parent, "kept/services.json")), "the addresses are gone with the services");
  const second = await start("kept");
  t.teardown(() => second.stop());
  t.same(await rows(second.databaseUrl!, "select n from layers.a"), [{ n: 7 }]);
  t.equal(second.databaseUrl, first.databaseUrl, "at the same address");
  t.equal(await withRedis(second.redisUrl!, (redis) => redis.ping()), "PONG");
});

t.test("the server's role can use the extensions and cannot reach the machine", async (t) => {
  const services = await start("rights", { redis: false });
  t.teardown(() => services.stop());
  const url = services.databaseUrl!;
  t.same(
    await rows(url, "select unaccent('é') as a, similarity('a', 'a') as b, ST_AsText(ST_Point(1, 2)) as c"),
    [{ a: "e", b: 1, c: "POINT(1 2)" }],
  );
  const denied = [
    "copy (select 1) to program 'true'",
    "create table if not exists x (a text); copy x from program 'id'",
    "copy (select 1) to '/tmp/mapwright-x'",
    "select pg_read_file('/etc/passwd')",
    "select pg_read_binary_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select lo_import('/etc/passwd')",
    "create extension file_fdw",
    "create role other superuser",
    "create database other",
    "alter system set jit = on",
    "load '/tmp/x.so'",
    "create function f() returns int language c as '/lib/x86_64-linux-gnu/libc.so.6', 'getpid'",
    "set role postgres",
    "select * from pg_authid",
  ];
  for (const text of denied) await t.rejects(rows(url, text), { code: /^(42501|0A000|42704)$/ }, text);
  const attributes =
    "select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user";
  t.same(Object.values((await rows(url, attributes))[0] ?? {}), [false, false, false, false, false]);
  const elsewhere = new URL(url);
  elsewhere.pathname = "/postgres";
  await t.rejects(rows(elsewhere.href, "select 1"), { code: "42501" }, "it cannot enter another database");
});

t.test("the services listen on loopback, ask for passwords and do not run as root", async (t) => {
  const services = await start("closed");
  t.teardown(() => services.stop());
  const url = new URL(services.databaseUrl!);
  url.password = "wrong";
  await t.rejects(rows(url.href, "select 1"), { code: "28P01" });
  const redisUrl = new URL(services.redisUrl!);
  await t.rejects(
    withRedis(`redis://127.0.0.1:${redisUrl.port}/0`, (redis) => redis.set("a", "b")),
    "Redis asks for its password",
  );
  t.equal(url.hostname, "127.0.0.1");
  t.same(
    await rows(
      services.superuserUrl!,
      "select name, setting from pg_settings where name in ('listen_addresses', 'jit') order by 1",
    ),
    [
      { name: "jit", setting: "off" },
      { name: "listen_addresses", setting: "127.0.0.1" },
    ],
  );
  for (const pid of services.pids()) {
    if (process.getuid?.() === 0) t.not(statSync(`/proc/${pid}`).uid, 0);
    t.notMatch(readFileSync(`/proc/${pid}/cmdline`, "utf8"), decodeURIComponent(redisUrl.password));
  }
  for (const name of ["services.json", "secrets.json"]) {
    t.equal(statSync(join(parent, "closed", name)).mode & 0o777, 0o600, name);
  }
  const addresses = JSON.parse(readFileSync(join(parent, "closed/services.json"), "utf8"));
  const { databaseUrl, superuserUrl } = services;
  t.same(addresses, { databaseUrl, superuserUrl, redisUrl: services.redisUrl });
});

t.test("a data folder that cannot be made is an error", async (t) => {
  await t.rejects(startLocalServices({ dataDir: "/proc/none/data", log: quietLog, durable: false }), {
    message: /The data folder \/proc\/none cannot be made: ENOENT/,
  });
});

t.test("a second start on the same folder is refused while the first runs", async (t) => {
  const services = await start("locked", { database: false });
  t.teardown(() => services.stop());
  await t.rejects(
    start("locked", { database: false }),
    new AlreadyRunning(join(parent, "locked"), process.pid),
  );
  t.equal(
    await withRedis(services.redisUrl!, (redis) => redis.ping()),
    "PONG",
    "and the first is not disturbed",
  );
});

t.test("killed services are back at the same address with their data", async (t) => {
  const services = await start("killed");
  t.teardown(() => services.stop());
  await rows(services.databaseUrl!, "create table public.a as select 1 as n");
  const before = services.pids();
  for (const pid of before) process.kill(pid, "SIGKILL");
  t.same(await eventually(() => rows(services.databaseUrl!, "select n from public.a")), [{ n: 1 }]);
  t.equal(await eventually(() => withRedis(services.redisUrl!, (redis) => redis.ping())), "PONG");
  await eventually(async () => {
    if (services.pids().length < 2) throw new Error("not yet");
  });
  t.notSame(services.pids(), before);
  const after = services.pids();
  await services.stop();
  t.notOk(after.some(alive), "and stop ends the new processes");
});

t.test("services end with a parent that is killed, and the next start works at once", async (t) => {
  const { child, pids } = await startElsewhere("orphaned");
  t.ok(pids.length === 2 && pids.every(alive));
  child.kill("SIGKILL");
  await once(child, "exit");
  const services = await start("orphaned");
  t.teardown(() => services.stop());
  t.notOk(pids.some(alive), "the old processes are gone");
  t.same(await rows(services.databaseUrl!, "select 1 as n"), [{ n: 1 }]);
});

t.test("Ctrl-C in the terminal does not reach the services", async (t) => {
  const services = await start("session", { database: false });
  t.teardown(() => services.stop());
  const session = (pid: number) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[3];
  for (const pid of services.pids()) t.equal(session(pid), String(pid), "a session of its own");
});

t.test("an interrupted first start begins anew, lost passwords are replaced", async (t) => {
  const first = await start("lost", { redis: false });
  await rows(first.databaseUrl!, "create table public.a as select 1 as n");
  await first.stop();
  rmSync(join(parent, "lost/secrets.json"));
  const second = await start("lost", { redis: false });
  t.teardown(() => second.stop());
  t.not(second.databaseUrl, first.databaseUrl);
  t.same(await rows(second.databaseUrl!, "select n from public.a"), [{ n: 1 }]);
});

t.test("a command uses the services of a running server, and starts them where none runs", async (t) => {
  const dataDir = join(parent, "shared");
  t.equal(await ensureLocalServices({ dataDir, log: quietLog }), undefined, "a folder without services");
  const server = await start("shared");
  t.teardown(() => server.stop());
  const fromServer = await ensureLocalServices({ dataDir, log: quietLog });
  t.match(fromServer, { databaseUrl: server.databaseUrl, redisUrl: server.redisUrl });
  await fromServer?.stop();
  t.same(await rows(server.databaseUrl!, "select 1 as n"), [{ n: 1 }], "the server keeps them");
  await server.stop();
  const own = await ensureLocalServices({ dataDir, log: quietLog });
  t.teardown(() => own?.stop());
  t.same(await rows(own?.databaseUrl ?? "", "select 1 as n"), [{ n: 1 }]);
  let waiting = true;
  const starting = ensureLocalServices({ dataDir, log: quietLog }).finally(() => {
    waiting = false;
  });
  await sleep(500);
  t.ok(waiting, "another command waits, since these services end with the first one");
  const pids = own?.pids() ?? [];
  await own?.stop();
  t.equal(pids.length, 2);
  t.notOk(pids.some(alive), "the first one ends those that it started");
  const next = await starting;
  t.teardown(() => next?.stop());
  t.same(await rows(next?.databaseUrl ?? "", "select 1 as n"), [{ n: 1 }]);
});
