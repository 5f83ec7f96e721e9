import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { LocalCopies } from "../../src/storage/local-copies.js";

/** Copies of blobs on a machine, which its processes share. */

const keys = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"] as const;
const content = Buffer.alloc(10_000, "copied");

const parent = await mkdtemp(join(tmpdir(), "mapwright-copies-"));
t.teardown(() => rm(parent, { recursive: true, force: true }));

function source() {
  const fetched: string[] = [];
  return {
    fetched,
    size: async () => content.length,
    async *read(key: string) {
      fetched.push(key);
      yield content;
    },
  };
}

/** A process that takes copies, says so, and waits for its end. */
async function otherProcess() {
  const module = new URL("../../src/storage/local-copies.js", import.meta.url).href;
  const script = `
    import { LocalCopies } from ${JSON.stringify(module)};
    const source = { size: async () => ${content.length}, async *read() { yield Buffer.alloc(${content.length}, "copied"); } };
    const copies = new LocalCopies(${JSON.stringify(parent)}, 1_000_000, source);
    await copies.with(${JSON.stringify(keys[0])}, async (path) => process.stdout.write(path));
    setTimeout(() => undefined, 60_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [path] = await once(child.stdout, "data");
  return {
    path: String(path),
    kill: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

t.test(
  "what another process of the machine has is not fetched again, and stays when that one ends",
  async (t) => {
    const other = await otherProcess();
    const own = source();
    const copies = new LocalCopies(parent, 1_000_000, own);
    const path = await copies.with(keys[0], async (path) => path);
    t.same(own.fetched, []);
    t.not(path, other.path);
    t.equal((await stat(path)).ino, (await stat(other.path)).ino, "it lies on the disk once");
    await copies.with(keys[1], async () => undefined);
    t.same(own.fetched, [keys[1]]);
    await rm(other.path);
    t.ok((await copies.with(keys[0], (path) => readFile(path))).equals(content));
    await other.kill();
    t.ok((await copies.with(keys[0], (path) => readFile(path))).equals(content));
    t.same(own.fetched, [keys[1]]);
  },
);

t.test("what a killed process has left is taken over by the next one, as far as it may", async (t) => {
  const other = await otherProcess();
  await other.kill();
  const before = (await readdir(parent)).length;
  const own = source();
  await new LocalCopies(parent, 1_000_000, own).with(keys[0], async (path) => {
    t.ok((await readFile(path)).equals(content));
  });
  t.same(own.fetched, []);
  t.equal((await readdir(parent)).length, before, "its folder has gone, and there is a new one");
  const last = await otherProcess();
  await last.kill();
  const small = new LocalCopies(parent, content.length - 1, source());
  const left = await small.with(keys[1], (path) => readdir(join(path, "..")));
  t.same(left, [keys[1]], "only what is in use, where all has no room");
});

t.test("what a machine of another name has left goes when it was not used for a day", async (t) => {
  const [old, young] = ["former-1-2-0123456789ab", "other-host-1-2-0123456789ab"];
  for (const name of [old, young]) await mkdir(join(parent, name));
  const time = Date.now() / 1_000 - 90_000;
  await utimes(join(parent, old), time, time);
  await new LocalCopies(parent, 1_000_000, source()).with(keys[0], async () => undefined);
  const names = await readdir(parent);
  t.notOk(names.includes(old));
  t.ok(names.includes(young));
});
