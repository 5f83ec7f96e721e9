import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { loadConfig } from "../../src/config.js";
import { createServer, type Server } from "../../src/http/server.js";
import { listenersOn } from "../../src/serve/listeners.js";
import { freePort } from "../http/harness.js";
import { haveBaseMapIn } from "../support/base-map.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { waitFor } from "../support/server.js";

/** Whom a port belongs to: `mapwright serve` as processes of their own, beside this one, which listens as well. */

const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));

const database = await freshDatabase();
await haveBaseMapIn(database);
const dataDir = await mkdtemp(join(tmpdir(), "mapwright-port-"));
const started: ChildProcess[] = [];
t.teardown(async () => {
  for (const child of started) child.kill("SIGKILL");
  await Promise.all(started.map(ended));
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const environment = {
  PATH: process.env.PATH ?? "",
  DATABASE_URL: database.url,
  REDIS_URL: testRedisUrl(),
  MAPWRIGHT_REDIS_PREFIX: freshPrefix(),
  MAPWRIGHT_DATA_DIR: dataDir,
  MAPWRIGHT_LOG_LEVEL: "error",
};

interface Running {
  readonly process: ChildProcess;
  /** All that it said. */
  readonly told: () => string;
}

function serve(host: string, port: number, nodes: number): Running {
  const flags = ["--no-demo", "--host", host, "--port", String(port), "--nodes", String(nodes)];
  const child = spawn(process.execPath, [program, "serve", ...flags], {
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  started.push(child);
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    told += text;
  });
  return { process: child, told: () => told };
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

async function ended(child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) await once(child, "exit");
}

/** Waits until it serves, or has ended. */
async function settled({ process, told }: Running): Promise<"serves" | "ended"> {
  while (!/is ready: /.test(told())) {
    if (hasEnded(process)) return "ended";
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return "serves";
}

async function end(running: Running, signal: NodeJS.Signals): Promise<void> {
  running.process.kill(signal);
  await ended(running.process);
}

/** Listens in this process, as an older version would (shared) or as other programs do. */
async function listen(host: string, port: number, manner: "shared" | "alone"): Promise<Server> {
  const config = loadConfig({ environment: {}, flags: { dataDir } });
  const server = createServer<undefined>({ routes: [], services: undefined, log: quietLog, config });
  await server.listen(host, port, { shared: manner === "shared" });
  return server;
}

t.test("a port that somebody listens on is not taken, however he does, and who it is is told", async (t) => {
  const cases = [
    { theirs: "127.0.0.1", manner: "shared", ours: "127.0.0.1", nodes: 2 },
    { theirs: "127.0.0.1", manner: "shared", ours: "127.0.0.1", nodes: 1 },
    { theirs: "127.0.0.1", manner: "alone", ours: "127.0.0.1", nodes: 2 },
    { theirs: "0.0.0.0", manner: "shared", ours: "127.0.0.1", nodes: 2 },
    { theirs: "127.0.0.1", manner: "shared", ours: "0.0.0.0", nodes: 2 },
    { theirs: "::", manner: "shared", ours: "0.0.0.0", nodes: 2 },
    { theirs: "127.0.0.1", manner: "shared", ours: "::", nodes: 2 },
    { theirs: "::1", manner: "shared", ours: "::", nodes: 1 },
  ] as const;
  const attempts = [];
  for (const { theirs, manner, ours, nodes } of cases) {
    const port = await freePort();
    const holder = await listen(theirs, port, manner);
    const name = `${ours}, ${nodes} nodes, beside ${theirs}, ${manner}`;
    attempts.push({ name, holder, attempt: serve(ours, port, nodes), place: `Port ${port} of ${ours}` });
  }
  for (const { name, holder, attempt, place } of attempts) {
    t.equal(await settled(attempt), "ended", name);
    t.equal(attempt.process.exitCode, 1);
    t.match(attempt.told(), `${place} is in use by process ${process.pid} (`);
    t.match(attempt.told(), "or choose another port (--port, MAPWRIGHT_PORT)");
    await holder.close(0);
  }
});

t.test("an address that this machine does not have is refused for that reason", async (t) => {
  const attempt = serve("192.0.2.1", await freePort(), 1);
  await ended(attempt.process);
  t.match(attempt.told(), "192.0.2.1 is no address of this machine; choose another (--host, MAPWRIGHT_HOST)");
});

const port = await freePort();
let server: Running;

t.test("of servers that start on one port at once one serves, the others say that it is taken", async (t) => {
  const all = [serve("0.0.0.0", port, 2), serve("0.0.0.0", port, 2), serve("0.0.0.0", port, 2)];
  const states = await Promise.all(all.map(settled));
  t.same([...states].sort(), ["ended", "ended", "serves"]);
  for (const { process, told } of all)
    if (hasEnded(process)) t.match(told(), `Port ${port} of 0.0.0.0 is in use by `);
  server = all[states.indexOf("serves")]!;
});

t.test(
  "who joins several nodes on their port is told once; a node that was started again is not",
  async (t) => {
    const inodes = async () => (await listenersOn(port)).map(({ inode }) => inode).sort();
    const before = await inodes();
    t.equal(before.length, 2);
    const [victim] = await nodesOf(server);
    process.kill(victim!, "SIGKILL");
    await waitFor(async () => {
      const now = await inodes();
      return now.length === 2 && now.some((inode) => !before.includes(inode));
    });
    // Gets nothing of what is meant for the nodes: it listens on another address.
    const strangers = [await listen("::1", port, "shared"), await listen("127.0.0.1", port, "shared")];
    const warnings = () =>
      server.told().split(`Port ${port} is shared with process ${process.pid} (`).length - 1;
    await waitFor(() => warnings() > 0);
    strangers.push(await listen("0.0.0.0", port, "shared"));
    await waitFor(() => warnings() > 1);
    t.equal(server.told().split("is shared with").length - 1, 2, server.told());
    for (const stranger of strangers) await stranger.close(0);
  },
);

t.test("a start right after the server was killed gets the port that a client still holds", async (t) => {
  const client = connect(port, "127.0.0.1");
  client.on("error", () => undefined);
  await once(client, "connect");
  await end(server, "SIGKILL");
  // Two servers with addresses of their own may have one port.
  const both = [serve("0.0.0.0", port, 1), serve("::1", port, 1)];
  t.same(await Promise.all(both.map(settled)), ["serves", "serves"], both.map(({ told }) => told()).join());
  t.match(both[1]!.told(), `is ready: http://[::1]:${port}/`, "an IPv6 address as browsers take it");
  for (const host of ["127.0.0.1", "[::1]"])
    t.equal((await fetch(`http://${host}:${port}/health/live`)).status, 200);
  client.destroy();
  for (const host of ["0.0.0.0", "127.0.0.1", "::1", "::"])
    await t.rejects(listen(host, port, "shared"), "a single node shares its port with nobody");
  for (const one of both) {
    await end(one, "SIGTERM");
    t.equal(one.process.exitCode, 0);
  }
});

/** Process ids of a server's nodes. */
async function nodesOf(running: Running): Promise<number[]> {
  const ps = spawn("ps", ["--ppid", String(running.process.pid), "-o", "pid="], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let pids = "";
  for await (const text of ps.stdout) pids += String(text);
  return pids.trim().split(/\s+/).map(Number);
}
