import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import t from "tap";
import { makeFileLayer, makeObject, send } from "../api/files.support.js";
import { runCommand } from "../commands/support.js";
import { freshDatabase } from "../support/database.js";
import { makeMap } from "../support/maps.js";
import { S3Link } from "../support/s3-link.js";
import { s3rver, startS3, useS3 } from "../support/s3-servers.js";
import { startServer, waitFor } from "../support/server.js";

/** Backups in an S3 store, and restored from there into a folder and into a store. */

const store = await startS3(t, s3rver);
const link = await S3Link.to(store.url);
t.teardown(() => link.close());
useS3({ ...store, url: link.url });
const bucket = await store.bucket();
const target = `s3://${bucket}/backups`;
const folder = await mkdtemp(join(tmpdir(), "mapwright-backup-"));
t.teardown(() => rm(folder, { recursive: true, force: true }));
const server = await startServer();
t.teardown(() => server.stop());
const { config } = server.nodes[0]!.services;
const source = {
  DATABASE_URL: config.databaseUrl,
  MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
  MAPWRIGHT_DATA_DIR: config.dataDir,
};
await makeMap(server, "m");
await makeFileLayer(server, "a");
await mkdir(join(config.dataDir, "icons"), { recursive: true });
await writeFile(join(config.dataDir, "icons", "own.svg"), "<svg/>");

const mapwright = async (variables: Record<string, string>, ...args: string[]) => {
  const { status, stdout, stderr } = await runCommand(args, { variables });
  return { status, stdout, stderr, json: /^[{[]/.test(stdout) ? JSON.parse(stdout) : undefined };
};

async function empty(more: Record<string, string> = {}) {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const dataDir = await mkdtemp(join(folder, "data-"));
  return { DATABASE_URL: database.url, MAPWRIGHT_DATA_DIR: dataDir, ...more };
}

const content = createHash("sha512").update("content").digest("hex");
async function attach(bytes = content): Promise<string> {
  const id = await makeObject(server, "a");
  const { status, json } = await send(server, `a/objects/${id}`, { bytes });
  t.equal(status, 200);
  return json.uuid;
}

t.test("is made of what is new, listed, restored and thinned out there as in a folder", async (t) => {
  await attach();
  const first = await mapwright(source, "backup", target, "--json");
  t.match(first, { status: 0, json: { blobs: 1, copied: 1 } }, first.stderr);
  const uuid = await attach("x".repeat(9_000_000));
  const second = await mapwright(source, "backup", target, "--json");
  t.match(second, { status: 0, json: { blobs: 2, copied: 1 } }, second.stderr);
  const list = await mapwright(source, "backup", target, "--list", "--json");
  t.same(
    list.json.map(({ name }: { name: string }) => name).toSorted(),
    [first.json.name, second.json.name].toSorted(),
  );

  const elsewhere = await empty();
  const restored = await mapwright(elsewhere, "restore", target);
  t.equal(restored.status, 0, restored.stderr);
  t.same(await readdir(join(elsewhere.MAPWRIGHT_DATA_DIR, "icons")), ["own.svg"]);
  t.ok((await readdir(join(elsewhere.MAPWRIGHT_DATA_DIR, "files", uuid.slice(0, 2)))).includes(uuid));

  const without = await empty({ MAPWRIGHT_BLOBS: `s3://${bucket}/maps` });
  t.equal((await mapwright(without, "restore", target)).status, 0);
  const { objects } = await store.contents(bucket);
  for (const name of ["maps/icons/own.svg", `maps/${uuid.slice(0, 2)}/${uuid}`, "maps/installation"])
    t.ok(objects.includes(name), name);
  t.notOk((await readdir(without.MAPWRIGHT_DATA_DIR)).includes("icons"), "icons lie in the bucket, too");
  t.match(await mapwright(without, "backup", target), { status: 0 }, "the installation goes on there");

  t.match((await mapwright(source, "backup", target, "--keep", "1", "--json")).json, { removed: 3 });
  const left = (await store.contents(bucket)).objects.filter((name) => name.startsWith("backups/2"));
  t.same(new Set(left.map((name) => name.split("/")[1])).size, 1);
});

t.test("one that is damaged is refused before anything is lost", async (t) => {
  const { json } = await mapwright(source, "backup", target, "--json");
  const place = { Bucket: bucket, Key: `backups/${json.name}/database` };
  await store.client.send(new PutObjectCommand({ ...place, Body: "PGDMP and no more" }));
  t.match(await mapwright(await empty(), "restore", target), {
    status: 1,
    stderr: /is damaged.*pg_restore failed/,
  });
});

t.test("a store that breaks off leaves no backup, and says why", async (t) => {
  const before = (await mapwright(source, "backup", target, "--list", "--json")).json;
  for (const fault of [
    { sent: 20_000, forGood: true },
    { sent: 100_000, forGood: true },
    { status: 503, times: 100 },
  ]) {
    link.set(fault);
    const failed = await mapwright(source, "backup", target);
    t.equal(failed.status, 1);
    t.match(failed.stderr, /S3 store failed/);
    t.notMatch(failed.stderr, /s3rver|S3RVER/i, "no secret is told");
  }
  link.set();
  t.same((await mapwright(source, "backup", target, "--list", "--json")).json, before);
  t.equal((await mapwright(source, "backup", target)).status, 0);
  t.same((await store.contents(bucket)).parts, []);
});

t.test("another installation's backups are left alone", async (t) => {
  const other = await startServer();
  t.teardown(() => other.stop());
  await waitFor(() => other.nodes[0]!.services.store.isOurs());
  const { databaseUrl, databaseDirectUrl, dataDir } = other.nodes[0]!.services.config;
  const variables = {
    DATABASE_URL: databaseUrl,
    MAPWRIGHT_DATABASE_DIRECT_URL: databaseDirectUrl,
    MAPWRIGHT_DATA_DIR: dataDir,
  };
  t.match(await mapwright(variables, "backup", target, "--keep", "1"), {
    status: 1,
    stderr: /has backups of another installation/,
  });
});

t.test("the place of an installation's own files is none for backups", async (t) => {
  for (const place of [config.dataDir, `s3://${bucket}`]) {
    // Its files lie in the folder `files` there, as a backup's would.
    if (place !== config.dataDir)
      await store.client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: "files/installation",
          Body: "11111111-1111-4111-8111-111111111111",
        }),
      );
    t.match(await mapwright(source, "backup", place), {
      status: 1,
      stderr: /has the files of an installation/,
    });
  }
});

t.test("wrong addresses are told", async (t) => {
  t.match(await mapwright(source, "backup", "s3://x"), { status: 2, stderr: /a bucket's name has 3 to 63/ });
  t.match(await mapwright(source, "restore", "s3:bucket/maps"), {
    status: 2,
    stderr: /s3:\/\/bucket\/prefix/,
  });
  t.match(await mapwright(source, "backup", "s3://no-such-bucket/maps"), {
    status: 1,
    stderr: /NoSuchBucket/,
  });
  t.match(await mapwright(source, "backup", `s3://${bucket}/nothing`, "--list"), {
    status: 1,
    stderr: /no backup in s3:/,
  });
  t.match(await mapwright(source, "backup", "/proc/none"), {
    status: 1,
    stderr: /\/proc\/none cannot be used for backups/,
  });
});
