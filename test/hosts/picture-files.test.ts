import { mkdir, readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { PictureFiles, type PictureName } from "../../src/hosts/picture-files.js";
import { quietLog } from "../support/log.js";

/** Resized pictures on disk, without the host that makes them. */

const blob = (n: number) => `${String(n).padStart(8, "0")}-0000-4000-8000-000000000000`;
const name = (n: number, tag: string, format?: PictureName["format"]): PictureName => ({
  blob: blob(n),
  tag,
  format,
});
const png = (bytes: number, value = 1) => ({
  bytes: new Uint8Array(bytes).fill(value),
  format: "png" as const,
});

async function filesIn(folder: string): Promise<{ path: string; bytes: number }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return { path, bytes: (await stat(path)).size };
    }),
  );
}

t.test("a picture is found in the format that it was made in, by other processes too", async (t) => {
  const folder = t.testdir();
  const files = new PictureFiles(folder, 1_000_000, quietLog);
  t.equal(await files.read(name(1, "a")), undefined);
  await files.write(name(1, "a"), png(1_000));
  const other = new PictureFiles(folder, 1_000_000, quietLog);
  t.same(await other.read(name(1, "a")), { ...png(1_000), bytes: Buffer.alloc(1_000, 1) });
  t.ok(await other.read(name(1, "a", "png")));
  t.equal(await other.read(name(1, "a", "jpeg")), undefined);
  t.equal(await other.read(name(1, "b")), undefined);
});

t.test("a quota bounds what is kept, and what was not used for longest goes first", async (t) => {
  const folder = t.testdir();
  const quota = 400_000;
  const files = new PictureFiles(folder, quota, quietLog);
  await files.write(name(1, "used"), png(10_000));
  for (let n = 0; n < 6; n++) await files.write(name(1, `unused${n}`), png(10_000));
  const hourAgo = Date.now() / 1_000 - 3_600;
  for (const { path } of await filesIn(folder)) await utimes(path, hourAgo, hourAgo);
  await files.read(name(1, "used"));
  for (let n = 0; n < 100; n++) {
    await files.write(name(2 + n, "x"), png(5_000));
    const total = (await filesIn(folder)).reduce((sum, { bytes }) => sum + bytes, 0);
    if (total > quota) t.fail(`${total} bytes`);
    if (n === 36) {
      t.ok(await files.read(name(1, "used")), "read within the hour");
      t.equal(await files.read(name(1, "unused0")), undefined);
    }
  }
  t.equal(await files.read(name(2, "x")), undefined);
  t.ok(await files.read(name(101, "x")));
  for (const prefix of await readdir(folder))
    for (const key of await readdir(join(folder, prefix)))
      t.not((await readdir(join(folder, prefix, key))).length, 0, "no empty folder stays");
});

t.test("one large picture does not drive out the others", async (t) => {
  const folder = t.testdir();
  const files = new PictureFiles(folder, 100_000, quietLog);
  await files.write(name(1, "a"), png(5_000));
  await files.write(name(2, "large"), png(50_000));
  t.ok(await files.read(name(1, "a")));
  t.equal(await files.read(name(2, "large")), undefined);
});

t.test("a part that a killed process left is never read, and removed", async (t) => {
  const folder = t.testdir();
  const place = join(folder, "00", blob(1));
  await mkdir(place, { recursive: true });
  const parts = ["a.png.0123.part", "b.png.4567.part"].map((file) => join(place, file));
  for (const part of parts) await writeFile(part, "half");
  const yesterday = Date.now() / 1_000 - 86_400;
  await utimes(parts[0]!, yesterday, yesterday);
  const files = new PictureFiles(folder, 1_000_000, quietLog);
  t.equal(await files.read(name(1, "a")), undefined);
  await files.write(name(1, "c"), png(10));
  t.same((await readdir(place)).sort(), ["b.png.4567.part", "c.png"], "one may be under way");
});

t.test("pictures of a blob are forgotten together", async (t) => {
  const folder = t.testdir();
  const files = new PictureFiles(folder, 1_000_000, quietLog);
  for (const [n, tag] of [
    [1, "a"],
    [1, "b"],
    [2, "a"],
  ] as const)
    await files.write(name(n, tag), png(10));
  await files.forget(blob(1));
  await files.forget(blob(3));
  t.equal(await files.read(name(1, "a")), undefined);
  t.ok(await files.read(name(2, "a")));
  t.equal((await filesIn(folder)).length, 1);
});

t.test("without a quota, or a folder that can be written, nothing is kept and nothing fails", async (t) => {
  const folder = t.testdir({ file: "" });
  for (const files of [
    new PictureFiles(folder, 0, quietLog),
    new PictureFiles(join(folder, "file"), 1_000_000, quietLog),
  ]) {
    await files.write(name(1, "a"), png(10));
    t.equal(await files.read(name(1, "a")), undefined);
    await files.forget(blob(1));
  }
  t.equal((await filesIn(folder)).length, 1);
});
