import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { Command } from "commander";
import t from "tap";
import { withServices } from "../../src/commands/environment.js";
import { startServer, waitFor } from "../support/server.js";
import { runCommand } from "./support.js";

const server = await startServer();
t.teardown(() => server.stop());
const { config } = server.nodes[0]!.services;
const variables = {
  DATABASE_URL: config.databaseUrl,
  MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
  REDIS_URL: config.redisUrl,
  MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
};
const run = async (line: string, input?: string) => {
  const result = await runCommand(line.split(" "), { variables, ...(input === undefined ? {} : { input }) });
  if (result.status !== 0) throw new Error(result.stderr);
  return result.stdout.trim();
};
const status = async (path: string, token?: string) => (await server.api("GET", path, { token })).status;

t.test("a running node knows what a command changed when the command ends", async (t) => {
  await server.api("POST", "", { token: await server.token("editor"), body: { code: "m" } });
  t.equal(await status("m/"), 200);
  await run("map unpublish p m");
  t.equal(await status("m/"), 403);
  await run("map publish p m");
  t.equal(await status("m/"), 200);
  await run("grant public --project p --map m --rights none");
  t.equal(await status("m/"), 403);

  await run("user add guest --project p --role admin", "a guest of p\n");
  const token = await run("session open guest --project p --origin api");
  t.equal(await status("users/list/", token), 200);
  t.equal((await server.api("GET", "authorized/", { token })).text, "true");
  const address = await run(`session tile-key guest --project p --map m --base-url ${server.url}/`);
  t.match(address, /^http:\/\/127\.0\.0\.1:\d+\/tms\/p\/m\/\{z\}\/\{x\}\/\{y\}\.png\?key=[\w-]{43}$/);
  const shown = async (url: string) => (await fetch(url.replace(/\{[zxy]\}/g, "0"))).status;
  t.equal(await shown(address.replace(/\?.*/, "")), 403);
  t.equal(await shown(address), 200);
  const made = JSON.parse(await run("session tile-key guest --project p --map m --seconds 60 --json"));
  t.match(made, { url: /^http:\/\/localhost:\d+\/tms\/p\/m\//, tilejson: /tile\.json\?key=/ });
  t.ok(Date.parse(made.expires) - Date.now() < 61_000);
  await run("user add guest --project p --role viewer");
  t.equal(await status("users/list/", token), 403);
  await run("user remove guest --yes");
  t.equal(await status("users/list/", token), 401);

  await run("project create fresh");
  await waitFor(async () => (await fetch(`${server.url}/api/2.8/fresh/authorized/`)).status === 200);
  await run("project delete fresh --yes");
  await waitFor(async () => (await fetch(`${server.url}/api/2.8/fresh/authorized/`)).status === 500);
});

t.test("a command leaves no connection open, also one that it does not wait for", async (t) => {
  const command = new Command().option("--config <file>");
  const streams = { stdin: Readable.from([]), stdout: new PassThrough(), stderr: new PassThrough() };
  let opening: Promise<{ readonly status: string }> | undefined;
  await withServices({ ...streams, variables }, command, async (services) => {
    opening = services.redis();
  });
  const redis = await opening!;
  await waitFor(() => redis.status === "end");
  t.equal(redis.status, "end");
});

t.test("a command beside a private PostgreSQL says why that is not used", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-private-"));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const kept = { databaseUrl: "postgresql://127.0.0.1:1/maps", redisUrl: "redis://127.0.0.1:1/0" };
  await writeFile(join(dataDir, "services.json"), JSON.stringify(kept));
  // A database that is not there, whatever runs on this machine.
  const { PGHOST, PGPORT } = process.env;
  Object.assign(process.env, { PGHOST: "127.0.0.1", PGPORT: "1" });
  t.teardown(() => {
    for (const [name, value] of Object.entries({ PGHOST, PGPORT }))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
  const tried = async (more: Record<string, string>) =>
    (await runCommand(["upgrade"], { variables: { MAPWRIGHT_DATA_DIR: dataDir, ...more } })).stderr;
  t.match(await tried({ REDIS_URL: "redis://127.0.0.1:2/0" }), /is not used, since REDIS_URL is another/);
  t.notMatch(await tried({ REDIS_URL: kept.redisUrl }), /is not used/);
});
