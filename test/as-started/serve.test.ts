import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { freshDatabase } from "../support/database.js";
import { testRedisUrl } from "../support/redis.js";
import { bareEnvironment, program, start } from "./installation.js";
import { startTileServer } from "./steps/external.js";
import { operatorsIcon } from "./steps/pictures.js";
import { walk } from "./walk.js";

/** `mapwright serve` in a folder of its own, with a database, Redis and settings in the environment. */

// The walk is one test, so all of it counts against the time of a file.
t.setTimeout(1_200_000);
const folder = await mkdtemp(join(tmpdir(), "mapwright-served-"));
const database = await freshDatabase({ bare: true });
const tiles = await startTileServer();
const redis = new URL(testRedisUrl());
// No other test has this one.
redis.pathname = "/9";
const env = {
  ...bareEnvironment(folder),
  DATABASE_URL: database.url,
  REDIS_URL: redis.href,
  MAPWRIGHT_EXTERNAL_HOSTS: tiles.host,
  MAPWRIGHT_EXTERNAL_LAYERS_PRIVATE_ADDRESSES: "true",
  MAPWRIGHT_LINKS_PRIVATE_ADDRESSES: "true",
};
await mkdir(join(folder, "data/icons"), { recursive: true });
await writeFile(join(folder, `data/icons/${operatorsIcon.name}.svg`), operatorsIcon.svg);
const command = [process.execPath, program];
const server = await start([...command, "serve", "--no-demo", "--port", "0"], { cwd: folder, env });
t.teardown(async () => {
  await server.stop();
  tiles.server.close();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

t.test("a server with a database of its operator", async (t) => {
  await walk(
    t,
    { url: server.url, folder, env, command, told: server.told, externalHosts: [tiles.host] },
    { all: false },
  );

  await t.test("it stops when it is told to", async (t) => {
    t.equal(await server.stop(), 0);
  });
});
