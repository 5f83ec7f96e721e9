import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";
import { waitFor } from "../support/server.js";

/** `mapwright serve --local` as a person runs it: a process of its own, on services of its own. */

const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));
const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), "mapwright-serve-"));
t.teardown(() => rm(dataDir, { recursive: true, force: true }));

// Nothing of the machine's own settings: neither its database nor its Redis.
const environment = { PATH: process.env.PATH ?? "", HOME: dataDir, LANG: "C.UTF-8" };
const options = ["--data-dir", dataDir];

interface Running {
  readonly process: ChildProcess;
  readonly url: string;
  readonly told: () => string;
}

const start = (...flags: string[]): Promise<Running> => startBy([process.execPath, program], ...flags);

/** @param command what the program is started by, in the checkout */
async function startBy([command, ...first]: readonly string[], ...flags: string[]): Promise<Running> {
  const child = spawn(
    command!,
    [...first, "serve", "--local", "--host", "127.0.0.1", "--port", "0", ...flags, ...options],
    {
      cwd: checkout,
      env: environment,
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  // Whatever a test comes to, nothing that it started stays; what the program started itself ends with it.
  t.teardown(() => child.kill("SIGKILL"));
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    told += text;
  });
  const address = () => /is ready: (\S+)\/\n/.exec(told)?.[1];
  const until = Date.now() + 90_000;
  while (!address() && child.exitCode === null && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const url = address();
  if (!url) throw new Error(`it did not start:\n${told}`);
  return { process: child, url, told: () => told };
}

const exited = (child: ChildProcess) =>
  child.exitCode === null && child.signalCode === null
    ? new Promise<void>((resolve) => child.once("exit", () => resolve()))
    : Promise.resolve();

/** Process ids of this installation: every process that has its data folder in its command line or is a child of one. */
async function processes(): Promise<{ pid: number; parent: number; command: string }[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="], { maxBuffer: 1 << 24 });
  const all = stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
    return match ? [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3]! }] : [];
  });
  const ours = new Set(all.filter(({ command }) => command.includes(dataDir)).map(({ pid }) => pid));
  for (let grew = true; grew; ) {
    grew = false;
    for (const { pid, parent } of all) {
      if (!ours.has(pid) && ours.has(parent)) grew = ours.add(pid).size > 0;
    }
  }
  return all.filter(({ pid }) => ours.has(pid));
}

const run = async (...args: string[]) => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, ...options], {
    env: environment,
  });
  return stdout;
};

let server: Running;

t.test("the first start makes its services, and serves the viewer and the base map", async (t) => {
  server = await start("--nodes", "2", "--no-demo", "--log-level", "error");
  t.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  t.match(server.told(), /There is no project yet.*\n.* project create .*\n.* user add /);
  t.match(await (await fetch(`${server.url}/`)).text(), /<title>/);
  const nodes = (await processes()).filter(({ command }) => command.includes("node-process"));
  t.equal(nodes.length, 2);
});

t.test("commands work on the running server, which sees at once what they change", async (t) => {
  await run("project", "create", "town", "--languages", "ru,en");
  const created = await fetch(`${server.url}/tms/town/m/?x=0&y=0&z=0`);
  t.equal(created.status, 404, "the project is there, its map is not");
  const add = spawn(
    process.execPath,
    [program, "user", "add", "ann", "--project", "town", "--role", "admin", ...options],
    {
      env: environment,
      stdio: ["pipe", "ignore", "ignore"],
    },
  );
  add.stdin.end("secret of ann\n");
  await exited(add);
  t.equal(add.exitCode, 0);
  const login = await fetch(`${server.url}/api/2.8/town/login/`, {
    method: "POST",
    body: new URLSearchParams({ user: "ann", pass: "secret of ann" }),
  });
  const { token } = (await login.json()) as { token: string };
  const map = await fetch(`${server.url}/api/2.8/town/?token=${token}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "m", name: "Town" }),
  });
  t.equal(map.status, 200);
  const tile = () => fetch(`${server.url}/tms/town/m/?x=0&y=0&z=0`).then((answer) => answer.status);
  t.equal(await tile(), 200);
  await run("map", "unpublish", "town", "m");
  for (let round = 0; round < 10; round++) t.equal(await tile(), 403, "on every node");
  await run("map", "publish", "town", "m");
  await waitFor(async () => (await tile()) === 200);
  const opened = (await run("session", "open", "ann", "--project", "town")).trim();
  const authorized = await fetch(`${server.url}/api/2.8/town/authorized/?token=${opened}`);
  t.equal(await authorized.text(), "false", "a session of the console is none of the interface");
});

t.test("a node that is killed is started again, and the other goes on serving", async (t) => {
  const [victim] = (await processes()).filter(({ command }) => command.includes("node-process"));
  process.kill(victim!.pid, "SIGKILL");
  await waitFor(async () => {
    const nodes = (await processes()).filter(({ command }) => command.includes("node-process"));
    return nodes.length === 2 && nodes.every(({ pid }) => pid !== victim!.pid);
  });
  await waitFor(async () => (await fetch(`${server.url}/health/ready`)).status === 200);
  const orphans = (await processes()).filter(
    ({ parent, command }) => parent === victim!.pid || (parent === 1 && command.includes("workers/host")),
  );
  t.same(orphans, [], "its hosts ended with it");
});

t.test("writes under a key are done once, whichever node is killed meanwhile", async (t) => {
  const base = `${server.url}/api/2.8/town`;
  const login = await fetch(`${base}/login/`, {
    method: "POST",
    body: new URLSearchParams({ user: "ann", pass: "secret of ann" }),
  });
  const { token } = (await login.json()) as { token: string };
  const post = async (path: string, body: unknown, key: string) => {
    const answer = await fetch(`${base}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-token": token, "idempotency-key": key },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  /** Asks until it is answered; connections break and nodes are away. */
  const insist = async (path: string, body: unknown, key: string) => {
    const until = Date.now() + 30_000;
    for (;;) {
      const answer = await post(path, body, key).catch(() => undefined);
      if (answer?.status === 200) return answer.text;
      if (Date.now() > until) throw new Error(`not answered in time: ${answer?.text}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await insist("m/layers/", { code: "l" }, "layer");
  await insist("m/layers/l/structure/", { code: "n", type: "number" }, "column");
  const answers = new Map<string, string>();
  let over = false;
  const write = async (client: number) => {
    for (let n = 0; !over; n++) {
      const key = `${client}-${n}`;
      answers.set(key, await insist("m/layers/l/objects/", { fields: { n: client } }, key));
      // There are writes at each moment all the same, and the nodes that start get their share of the machine.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const clients = Array.from({ length: 8 }, (_, client) => write(client));
  for (let kill = 0; kill < 6; kill++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const nodes = (await processes()).filter(({ command }) => command.includes("node-process"));
    if (nodes.length > 0) process.kill(nodes[kill % nodes.length]!.pid, "SIGKILL");
    const until = answers.size + 40;
    // A node takes some seconds to start on a busy machine.
    for (const from = Date.now(); answers.size <= until && Date.now() - from < 60_000; )
      await new Promise((resolve) => setTimeout(resolve, 20));
  }
  over = true;
  await Promise.all(clients);
  const ids = new Set([...answers.values()].map((text) => JSON.parse(text).id));
  t.equal(ids.size, answers.size, "each key has an object of its own");
  const count = await fetch(`${base}/m/layers/l/count/?precise=1&token=${token}`);
  t.equal(Number(await count.text()), answers.size, `${answers.size} requests, and no object more`);
  for (const [key, text] of [...answers].slice(-100)) {
    const again = await insist("m/layers/l/objects/", { fields: { n: Number(key.split("-")[0]) } }, key);
    t.equal(again, text, "the same answer");
  }
});

t.test("a second server on the same data folder says that there is one", async (t) => {
  await t.rejects(start("--no-demo"), { message: /another .* or choose another folder/i });
});

t.test("SIGTERM ends everything that it started", async (t) => {
  const before = (await processes()).length;
  t.ok(before > 5, `${before} processes`);
  server.process.kill("SIGTERM");
  await exited(server.process);
  t.equal(server.process.exitCode, 0);
  t.same(await processes(), []);
});

t.test("what was there is there after the next start, without a demo or a password", async (t) => {
  server = await start("--no-demo", "--log-level", "error");
  t.equal((await fetch(`${server.url}/tms/town/m/?x=0&y=0&z=0`)).status, 200);
  t.notMatch(server.told(), /Loading the demo|shown this once|no project/);
  t.match(await readFile(join(dataDir, "services.json"), "utf8"), /postgresql:/);
  server.process.kill("SIGINT");
  await exited(server.process);
  t.same(await processes(), []);
});

t.test("it ends with npx, which passes no signal on", async (t) => {
  server = await startBy(["npx", "mapwright"], "--no-demo", "--log-level", "error");
  server.process.kill("SIGTERM");
  t.teardown(async () => {
    for (const { pid } of await processes()) process.kill(pid, "SIGKILL");
  });
  await exited(server.process);
  await waitFor(async () => (await processes()).length === 0);
});
