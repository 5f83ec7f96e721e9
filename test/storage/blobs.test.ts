import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readlink, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { FolderBlobStore } from "../../src/storage/folder-blob-store.js";
import { checkBlobStore } from "./blobs.support.js";

/** The folder as a store for blobs. */

async function openFolder(t: Test) {
  const base = await mkdtemp(join(tmpdir(), "mapwright-blobs-"));
  t.teardown(() => rm(base, { recursive: true, force: true }));
  const folder = join(base, "files");
  const temporary = join(base, "tmp");
  await mkdir(temporary);
  return {
    store: new FolderBlobStore(folder),
    folder,
    temporary,
    async held() {
      const fds = await readdir("/proc/self/fd");
      const targets = await Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
      return targets.filter((target) => target.startsWith(folder)).length;
    },
    async contents() {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    },
  };
}

checkBlobStore(t, openFolder);

t.test("a temporary file is moved, and its place is its local copy", async (t) => {
  const { store, temporary } = await openFolder(t);
  const path = join(temporary, "upload");
  await writeFile(path, "content");
  const { ino } = await stat(path);
  const key = await store.put(path);
  t.same(await readdir(temporary), []);
  t.equal(await store.withLocalCopy(key, async (copy) => (await stat(copy)).ino), ino);
});

t.test("a temporary file of another file system is copied", async (t) => {
  const { store, temporary, contents } = await openFolder(t);
  const { dev } = await stat(temporary);
  // The tests may lie in memory themselves.
  const roots = ["/dev/shm", "/var/tmp"];
  const devices = await Promise.all(roots.map(async (root) => (await stat(root)).dev));
  const other = roots[devices.findIndex((device) => device !== dev)];
  if (!other) throw new Error("there is no second file system");
  const elsewhere = await mkdtemp(join(other, "mapwright-blobs-"));
  t.teardown(() => rm(elsewhere, { recursive: true, force: true }));
  const path = join(elsewhere, "upload");
  const bytes = Buffer.alloc(1_000_000, "abc");
  await writeFile(path, bytes);
  const key = await store.put(path);
  t.equal(await store.size(key), bytes.length);
  t.same(await contents(), [key]);
});

t.test("the part of a blob whose writer was killed is no blob, and goes when it is old", async (t) => {
  const { store, folder, temporary, contents } = await openFolder(t);
  const upload = join(temporary, "upload");
  await writeFile(upload, "content");
  const module = new URL("../../src/storage/folder-blob-store.js", import.meta.url).href;
  const script = `
    import { FolderBlobStore } from ${JSON.stringify(module)};
    await new FolderBlobStore(${JSON.stringify(folder)}).put((async function* () {
      yield Buffer.alloc(100_000);
      process.stdout.write("begun");
      yield Buffer.alloc(100_000);
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    })());`;
  const writer = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(writer.stdout, "data");
  writer.kill("SIGKILL");
  await once(writer, "exit");
  t.equal((await contents()).length, 1, "what was written of it");
  for await (const keys of store.olderThan(0)) t.fail(`${keys} is no blob`);
  await store.removeParts(3_600_000);
  t.equal((await contents()).length, 1, "while it is young it may be written still");
  const key = await store.put(upload);
  await store.removeParts(0);
  t.same(await contents(), [key]);
});

t.test("why a blob cannot be stored is told, also where its part cannot be removed either", async (t) => {
  const { store, folder } = await openFolder(t);
  async function* content() {
    yield Buffer.alloc(10);
    await rename(folder, `${folder}-before`);
    await writeFile(folder, "no folder any more");
    throw new Error("the upload ended early");
  }
  await t.rejects(store.put(content()), { message: "the upload ended early" });
});
