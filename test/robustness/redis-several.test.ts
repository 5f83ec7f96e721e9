import t, { type Test } from "tap";
import { get, inRed, makeClosedMap, makeKey } from "../api/tile-keys.support.js";
import { runCommand } from "../commands/support.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { copied, type RedisServer, RedisServers } from "../support/redis-servers.js";
import { startServer, type TestServer, waitFor } from "../support/server.js";

/** Two nodes with Redis as a cluster, and with one that Sentinel watches, do all that they do with one server. */

const servers = await RedisServers.create();
t.teardown(() => servers.stop());

async function colourOf(server: TestServer, node: number, layer: number): Promise<number[]> {
  const answer = await fetch(tileUrl(server, "m", { lon: 5, lat: 5, z: 6 }, `&layers=${layer}`, node));
  return [...(await picture(Buffer.from(await answer.arrayBuffer()))).at(128, 128)].slice(0, 3);
}

async function useAll(t: Test, server: TestServer): Promise<void> {
  const { config } = server.nodes[0]!.services;
  const variables = {
    DATABASE_URL: server.database.url,
    REDIS_URL: config.redisUrl,
    MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
  };
  t.equal(((await (await fetch(`${server.url}/health/ready`)).json()) as any).status, "ready");
  const token = await server.token("admin");
  await makeMap(server, "m");
  const { id } = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
  t.equal(
    (await server.api("GET", "m/layers/", { token, node: 1 })).status,
    200,
    "a session is there on each node",
  );
  t.notSame(await colourOf(server, 0, id), [255, 0, 0]);
  t.notSame(await colourOf(server, 1, id), [255, 0, 0]);
  await addObject(server, "a", square(-10, -10, 40), { map: "m", node: 1 });
  t.same(await colourOf(server, 0, id), [255, 0, 0], "an edit is seen on each node");
  t.same(await colourOf(server, 1, id), [255, 0, 0]);
  await makeClosedMap(server, "closed");
  const viewer = await server.token("viewer");
  const { url, key } = await makeKey(server, "closed", viewer);
  for (const node of server.urls) t.equal((await get(inRed(url).replace(server.url, node))).status, 200);
  const wrong = await server.api("POST", "login/", { body: { user: "viewer", pass: "wrong" } });
  t.equal(wrong.status, 403);
  const purged = await runCommand(["cache", "purge", "--json"], { variables });
  t.equal(purged.status, 0, purged.stderr);
  t.ok(JSON.parse(purged.stdout).deleted > 0);
  t.same(await colourOf(server, 1, id), [255, 0, 0]);
  const changed = await runCommand(["user", "password", "viewer", "--project", "p"], {
    variables,
    input: "a new one of many letters\n",
  });
  t.equal(changed.status, 0, changed.stderr);
  t.equal(
    (await server.api("GET", "closed/layers/", { token: viewer })).status,
    401,
    "its sessions are closed",
  );
  t.equal((await get(inRed(url))).status, 401, `${key} ends with its session`);
}

t.test("a cluster", async (t) => {
  const nodes = await servers.cluster();
  const redisUrl = `redis+cluster://127.0.0.1:${nodes[0]!.port},127.0.0.1:${nodes[1]!.port}`;
  const server = await startServer({ nodes: 2, config: { redisUrl } });
  t.teardown(() => server.stop());
  await useAll(t, server);
});

t.test("a primary and its replica", async (t) => {
  const { primary, replica, sentinel } = await servers.withSentinel("secret");
  const server = await startServer({
    nodes: 2,
    config: { redisUrl: `redis+sentinel://:secret@127.0.0.1:${sentinel.port}/maps` },
  });
  t.teardown(() => server.stop());
  await useAll(t, server);
  const token = await server.token("admin");
  // On a busy machine Sentinel may have changed them before.
  const isPrimary = async ({ cli }: RedisServer) => (await cli.info("replication")).includes("role:master");
  const [first, second] = (await isPrimary(primary)) ? [primary, replica] : [replica, primary];
  await copied(first);
  await first.kill();
  // A Sentinel that had no turn for two seconds does nothing for half a minute (TILT).
  await waitFor(() => isPrimary(second)).catch(() => waitFor(() => isPrimary(second)));
  for (const node of [0, 1])
    await waitFor(async () => (await server.api("GET", "m/layers/", { token, node })).status === 200);
});
