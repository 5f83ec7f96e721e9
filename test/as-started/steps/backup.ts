import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { freshDatabase } from "../../support/database.js";
import { bareEnvironment, checkout, program, run, start } from "../installation.js";
import { login, password, project, type Step, World } from "../world.js";
import { onPhoto } from "./rasters.js";

/** Backup and restore, by the commands that the documentation has for them. */

const docs = join(checkout, "src/docs/operating");
const [save = ""] = /(?<=^```sh\n)[\s\S]*?(?=^```)/m.exec(await readFile(join(docs, "backup.md"), "utf8"))!;
/** The block that puts the backup in place, with what the page lets its reader choose before. */
const restore = `BACKUP=backup\nTARGET=$DATABASE_URL\nFILES=data\n${
  /^```sh\n((?:(?!```)[\s\S])*?pg_restore --no-owner --file=[\s\S]*?)^```/m.exec(
    await readFile(join(docs, "restore.md"), "utf8"),
  )![1]
}`;

/** What a shell says of commands that must succeed. Without `--norc`, bash reads a file of its own where its input is a socket. */
async function shell(
  commands: string,
  where: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<string> {
  const { status, stdout, stderr } = await run(
    ["bash", "--norc", "-eu", "-o", "pipefail", "-c", commands],
    where,
  );
  if (status !== 0) throw new Error(`${status} ${stderr}`);
  return `${stdout}${stderr}`;
}

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
      const { folder, env } = world.at;
      // Its 135,000 cities would take most of the time.
      await world.mapwright(["project", "delete", "demo", "--yes"]);
      t.equal(await shell(save, { cwd: folder, env }), "", "the backup says nothing");
      await t.test("to an empty database, for a server in another folder", async (t) => {
        const restored = await restoredElsewhere(t, join(folder, "backup"));
        t.same(await contents(restored), await contents(world));
      });
      await t.test("in place, while the server runs", async (t) => {
        const before = await contents(world);
        await world.api("POST", "trees/layers/trees/objects/", { body: { fields: { species: "Yew" } } });
        await world.api("DELETE", "trees/layers/trees/objects/2/");
        t.equal(
          await shell(`${urlOf(save)}${restore}`, { cwd: folder, env }),
          "",
          "the restore says nothing",
        );
        t.same(await contents(world), before);
      });
    },
  },
];

/** The line that sets the address of the installation's own database. */
const urlOf = (commands: string): string => /^DATABASE_URL=.*\n/m.exec(commands)![0];

async function restoredElsewhere(t: Test, backup: string): Promise<World> {
  const database = await freshDatabase({ bare: true });
  const folder = await mkdtemp(join(tmpdir(), "mapwright-restored-"));
  t.teardown(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
  await mkdir(join(folder, "data"));
  await cp(backup, join(folder, "backup"), { recursive: true });
  const redis = new URL(process.env.MAPWRIGHT_TEST_REDIS_URL!);
  // No other test has this one.
  redis.pathname = "/10";
  const env = { ...bareEnvironment(folder), DATABASE_URL: database.url, REDIS_URL: redis.href };
  t.equal(await shell(restore, { cwd: folder, env }), "", "the restore says nothing");
  const command = [process.execPath, program];
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
