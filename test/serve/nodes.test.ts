import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { loadConfig } from "../../src/config.js";
import { Nodes } from "../../src/serve/nodes.js";
import { freePort } from "../http/harness.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { waitFor } from "../support/server.js";

/** Nodes whose process cannot be made for a while: the machine has no more processes, files or memory. */

const database = await freshDatabase();
const dataDir = await mkdtemp(join(tmpdir(), "mapwright-nodes-"));
const port = await freePort();
const config = loadConfig({
  environment: {},
  flags: {
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    redisPrefix: freshPrefix(),
    host: "127.0.0.1",
    port,
    dataDir,
    logLevel: "silent",
  },
});
t.teardown(async () => {
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** How the machine says that it makes no process, and how it does again. */
const troubles: Record<string, () => () => void> = {
  "is told by an event": () => {
    const { execPath } = process;
    process.execPath = "/nonexistent/node";
    return () => {
      process.execPath = execPath;
    };
  },
  // The kernel takes no variable of that length.
  "is thrown": () => {
    process.env.LONG = "x".repeat(200_000);
    return () => {
      delete process.env.LONG;
    };
  },
};

function open(t: Test): Nodes {
  const nodes = new Nodes(config, quietLog);
  t.teardown(() => nodes.stop(1_000));
  return nodes;
}

for (const [trouble, begin] of Object.entries(troubles)) {
  t.test(`nodes whose process cannot be made at first do not start (it ${trouble})`, async (t) => {
    const end = begin();
    t.teardown(end);
    await t.rejects(open(t).start(), { message: /^A node could not start: spawn .*(ENOENT|E2BIG)/ });
  });

  t.test(
    `a node that ends while no process can be made is brought back when one can (it ${trouble})`,
    async (t) => {
      const nodes = open(t);
      await nodes.start();
      const [first] = nodes.pids();
      const end = begin();
      t.teardown(end);
      process.kill(first!, "SIGKILL");
      await waitFor(() => nodes.pids().length === 0);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      t.same(nodes.pids(), []);
      end();
      await waitFor(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined);
        return answer?.status === 200;
      });
      t.not(nodes.pids()[0], first);
    },
  );
}

t.test("a node that is stopped before its hosts are ready ends as it should", async (t) => {
  const child = fork(new URL("../../src/node-process.js", import.meta.url), { stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  const exit = once(child, "exit");
  child.send({ kind: "start", config });
  await waitFor(
    async () => (await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined))?.ok === true,
  );
  child.send({ kind: "stop", requestMs: 1_000, drainMs: 0 });
  t.same(await exit, [0, null]);
});

t.test("nodes stop while no process can be made", async (t) => {
  const nodes = open(t);
  await nodes.start();
  t.teardown(troubles["is thrown"]!());
  process.kill(nodes.pids()[0]!, "SIGKILL");
  await waitFor(() => nodes.pids().length === 0);
  await nodes.stop(1_000);
});
