import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { FolderBlobStore } from "../../src/storage/folder-blob-store.js";
import { contentName } from "../../src/style/pictures.js";
import { emptyPicture } from "../../src/tiles/dots.js";
import { PictureFolder } from "../../src/tiles/picture-folder.js";

/** The folder that pictures of styles are drawn from. */

const scratch = await mkdtemp(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rm(scratch, { recursive: true, force: true }));
const blobs = new FolderBlobStore(join(scratch, "files"));
const image = { call: () => Promise.reject(new Error("nothing is enlarged here")) };

/** A picture of a letter, under the name of its content or another. */
async function pictureOf(letter: string, name?: string, bytes = 10_000) {
  const source = join(scratch, randomUUID());
  const content = letter.repeat(bytes);
  await writeFile(source, content);
  const blob = await blobs.put(source);
  const digest = createHash("sha256").update(content).digest("hex");
  const picture = { blob, digest, format: "svg" as const, width: 8, height: 8, bytes };
  return { name: name ?? contentName(picture), picture };
}
const openFolder = (maxBytes?: number) =>
  PictureFolder.open(join(scratch, "drawn"), { blobs, image }, maxBytes);
const listed = async (folder: PictureFolder): Promise<string[]> =>
  (await readdir(folder.path, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .filter((name) => name !== emptyPicture.name)
    .sort();

t.test("pictures that nothing is drawn from go when there are too many, those used last stay", async (t) => {
  const folder = await openFolder(45_000);
  const [a, b, c, d] = await Promise.all(["a", "b", "c", "d"].map((letter) => pictureOf(letter)));
  await folder.use([a!], async () => undefined);
  await folder.use([b!], async () => undefined);
  await folder.use([c!], async () => undefined);
  await folder.use([a!], async () => undefined);
  t.equal((await listed(folder)).length, 3);
  await folder.use([d!], async () => undefined);
  t.same(await listed(folder), [a!.name, c!.name, d!.name].sort());
  t.equal(await folder.use([b!], () => readFile(join(folder.path, b!.name), "utf8")), "b".repeat(10_000));
  t.equal((await listed(folder)).length, 3, "it is there again, and the one not used for longest went");
});

t.test("what is drawn from stays until that ends, whatever it takes", async (t) => {
  const folder = await openFolder(20_000);
  const pictures = await Promise.all(["a", "b", "c", "d"].map((letter) => pictureOf(letter)));
  await folder.use(pictures, async () => {
    await folder.use([await pictureOf("e")], async () => undefined);
    const found = await listed(folder);
    t.same(
      pictures.map(({ name }) => found.includes(name)),
      [true, true, true, true],
    );
  });
  t.equal((await listed(folder)).length, 1);
});

t.test("a picture of many names is one file on disk", async (t) => {
  const folder = await openFolder();
  const names = ["x/1.svg", "y/1.svg", "z/1.svg"];
  const pictures = await Promise.all(names.map((name) => pictureOf("f", name)));
  await folder.use(pictures, async () => {
    for (const name of names) t.equal(await readFile(join(folder.path, name), "utf8"), "f".repeat(10_000));
  });
  t.same(await listed(folder), ["1.svg", "1.svg", "1.svg", contentName(pictures[0]!.picture)].sort());
});

t.test("one whose blob is gone or damaged is left out and told, asked for at once or again", async (t) => {
  const folder = await openFolder();
  const [lost, damaged, other] = [await pictureOf("g"), await pictureOf("i"), await pictureOf("h")];
  await blobs.delete(lost.picture.blob);
  await blobs.withLocalCopy(damaged.picture.blob, (path) => writeFile(path, "j".repeat(10_000)));
  const named = { ...lost, name: "n/g.svg" };
  const drawn = () =>
    folder.use([named, lost, damaged, other], async (gone) => {
      t.same(new Set(gone.keys()), new Set([named.name, lost.name, damaged.name]));
      t.match(gone.get(damaged.name), { message: /damaged/ });
      return listed(folder);
    });
  const all = await Promise.all([drawn(), drawn(), drawn()]);
  for (const names of all) t.same(names, [other.name]);
  t.same(await drawn(), [other.name]);
  await folder.remove();
});
