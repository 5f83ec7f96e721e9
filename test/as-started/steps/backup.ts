import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { freshDatabase } from "../../support/database.js";
import { bareEnvironment, program, run, start } from "../installation.js";
import { login, password, project, type Step, World } from "../world.js";
import { onPhoto } from "./rasters.js";

/** Backup and restore, as the documentation tells. */

/** What is compared of both installations: a picture, a raster, objects, a file. */
async function contents(world: World): Promise<Record<string, unknown>> {
  const [file] = (await world.api("GET", "trees/layers/trees/objects/1/files/")).json;
  return {
    raster: await world.colour("rasters", onPhoto),
    picture: await world.colour("symbols", { lon: 10, lat: 10, z: 5 }),
    objects: (await world.api("GET", "trees/layers/trees/objects/?fields=*&returnGeom=1")).json,
    file: (await world.ask("GET", file.path)).bytes.toString("base64"),
    maps: (await world.api("GET", "maps/available/")).json,
    fonts: (await world.api("GET", "fonts/")).json,
    search: (await world.api("GET", "trees/search/?phrase=oak&lang=en")).json,
  };
}

export const backupSteps: readonly Step[] = [
  {
    name: "backup and restore",
    walk: async (t, world) => {
      const { folder } = world.at;
      // Its 135,000 cities would take most of the time.
      await world.mapwright(["project", "delete", "demo", "--yes"]);
      await world.mapwright(["backup", "backup"]);
      const said = await world.mapwright(["backup", "backup", "--keep", "1", "--quiet"]);
      t.equal(said.toString(), "");
      const [backup, ...others] = JSON.parse(
        (await world.mapwright(["backup", "backup", "--list", "--json"])).toString(),
      );
      t.same(others, []);
      await t.test("to an empty database, for a server in another folder", async (t) => {
        const restored = await restoredElsewhere(t, join(folder, "backup"));
        t.same(await contents(restored), await contents(world));
      });
      await t.test("in place, while the server runs", async (t) => {
        const before = await contents(world);
        await world.api("POST", "trees/layers/trees/objects/", { body: { fields: { species: "Yew" } } });
        await world.api("DELETE", "trees/layers/trees/objects/2/");
        await world.mapwright(["restore", "backup", "--at", backup.name, "--replace", "--yes"]);
        t.same(await contents(world), before);
      });
    },
  },
];

async function restoredElsewhere(t: Test, backup: string): Promise<World> {
  const database = await freshDatabase({ bare: true });
  const folder = await mkdtemp(join(tmpdir(), "mapwright-restored-"));
  t.teardown(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
  await cp(backup, join(folder, "backup"), { recursive: true });
  const redis = new URL(process.env.MAPWRIGHT_TEST_REDIS_URL!);
  // No other test has this one.
  redis.pathname = "/10";
  const env = { ...bareEnvironment(folder), DATABASE_URL: database.url, REDIS_URL: redis.href };
  const command = [process.execPath, program];
  const restored = await run([...command, "restore", "backup"], { cwd: folder, env });
  t.equal(restored.status, 0, restored.stderr);
  const server = await start([...command, "serve", "--port", "0"], { cwd: folder, env });
  t.teardown(() => server.stop());
  const world = new World({
    ...{ url: server.url, folder, env, command },
    told: server.told,
    externalHosts: [],
  });
  const body = { user: login, pass: password };
  world.token = (await world.ask("POST", `/api/2.8/${project}/login/`, { body })).json.token;
  return world;
}
