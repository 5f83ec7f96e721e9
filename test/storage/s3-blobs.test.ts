import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import t, { type Test } from "tap";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { FolderBlobStore } from "../../src/storage/folder-blob-store.js";
import { S3BlobStore } from "../../src/storage/s3-blob-store.js";
import { type S3Server, s3rver, startS3, swift, useS3 } from "../support/s3-servers.js";
import { checkBlobStore } from "./blobs.support.js";

/** S3 stores of two makers as stores for blobs. */

const prefix = "some/where/";

/** @param keptAsideMs default: what is put back lies aside no more */
async function openStore(t: Test, server: S3Server, keptAsideMs?: number) {
  const base = await mkdtemp(join(tmpdir(), "mapwright-blobs-"));
  const temporary = join(base, "tmp");
  await mkdir(temporary);
  const bucket = await server.bucket();
  const store = new S3BlobStore({
    address: { bucket, prefix },
    aws: { endpoint: server.url, region: "us-east-1" },
    copies: { folder: join(base, "copies"), bytes: 10_000_000 },
    // The large blobs of the cases are sent in several parts, and those set aside copied so where the server can.
    partBytes: 300_000,
    copyPartBytes: server.listsParts ? 400 : undefined,
    // A read that is looked at holds its connection, however busy the machine is.
    idleMs: 60_000,
    keptAsideMs: keptAsideMs ?? 0,
  });
  t.teardown(async () => {
    store.close();
    await rm(base, { recursive: true, force: true });
  });
  return {
    store,
    bucket,
    temporary,
    rounds: 8,
    // This server sends one byte of what has none, and then nothing.
    knowsEmpty: server.name !== "s3rver",
    async held() {
      const connections = () =>
        process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
      // A connection that has done its work is free a moment later.
      for (const until = Date.now() + 1_500; Date.now() < until && connections() > 0; ) await sleep(2);
      return connections();
    },
    async contents() {
      const { objects, parts } = await server.contents(bucket);
      return [...objects, ...parts].map((name) => name.slice(name.lastIndexOf("/") + 1));
    },
  };
}

for (const kind of [swift, s3rver])
  t.test(kind.name, async (t) => {
    const server = await startS3(t, kind);
    useS3(server);
    checkBlobStore(t, (t) => openStore(t, server));
  });

t.test("what is put back outlives whoever was still setting it aside", async (t) => {
  const server = await startS3(t, s3rver);
  useS3(server);
  const { store, bucket } = await openStore(t, server, 600_000);
  const key = await store.put(content("needed"));
  await store.setAside(key);
  await store.putBack(key);
  // As the request of `setAside` does whose answer was lost, and which is sent again.
  const Key = `${prefix}${key.slice(0, 2)}/${key}`;
  await server.client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
  const aside: string[] = [];
  for await (const keys of store.aside(0)) aside.push(...keys);
  t.same(aside, [key], "the next pass finds it");
  await store.putBack(key);
  t.equal(await text(store, key), "needed");
});

t.test(
  "a folder that is copied into a bucket file by file is the same store there, and back again",
  async (t) => {
    const server = await startS3(t, s3rver);
    useS3(server);
    const { store, bucket, temporary } = await openStore(t, server);
    const folder = join(temporary, "files");
    const before = new FolderBlobStore(folder);
    const id = "11111111-1111-4111-8111-111111111111";
    await before.setMark(id);
    const [kept, put] = [await before.put(content("kept")), await before.put(content("put away"))];
    await before.setAside(put);
    const { client } = server;
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const Key = `${prefix}${relative(folder, path)}`;
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: await readFile(path) }));
    }
    t.equal(await store.mark(), id);
    t.equal(await text(store, kept), "kept");
    await store.putBack(put);
    const added = await store.put(content("added"));

    const back = join(temporary, "back");
    for (const name of (await server.contents(bucket)).objects) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: name }));
      const path = join(back, name.slice(prefix.length));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, await Body!.transformToByteArray());
    }
    const after = new FolderBlobStore(back);
    t.equal(await after.mark(), id);
    for (const [key, said] of [
      [kept, "kept"],
      [put, "put away"],
      [added, "added"],
    ] as const)
      t.equal(await text(after, key), said);
  },
);

async function* content(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function text(store: BlobStore, key: string): Promise<string> {
  let all = "";
  for await (const chunk of store.read(key)) all += Buffer.from(chunk).toString();
  return all;
}
