import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { MirroredFolder } from "../../src/storage/mirrored-folder.js";
import { FileMissing, FolderFiles, type NamedFiles } from "../../src/storage/named-files.js";
import { quietLog } from "../support/log.js";

/** A folder that is kept as another place is: here that is a folder, too, as what it is made of does not matter. */

const root = await mkdtemp(join(tmpdir(), "mapwright-mirror-"));
t.teardown(() => rm(root, { recursive: true, force: true }));
const source = join(root, "source");
await mkdir(join(source, "p"), { recursive: true });
await writeFile(join(source, "p", "a.secret"), "one");
const files = new FolderFiles(source);

t.test("what is new comes, what has changed is changed, and what is gone goes", async (t) => {
  const mirror = await MirroredFolder.open({
    files,
    parent: join(root, "copies"),
    log: quietLog,
    everyMs: 20,
  });
  const read = (name: string) => readFile(join(mirror.path, name), "utf8").catch(() => undefined);
  t.equal(await read("p/a.secret"), "one", "it is there when it is opened");
  await writeFile(join(source, "p", "a.secret"), "another");
  await writeFile(join(source, "p", "b.secret"), "two");
  while ((await read("p/b.secret")) === undefined || (await read("p/a.secret")) !== "another")
    await mirror.look();
  await rm(join(source, "p", "a.secret"));
  await mirror.look();
  await mirror.look();
  t.same(await readdir(join(mirror.path, "p")), ["b.secret"]);
  await mirror.stop();
  t.same(await readdir(join(root, "copies")), [], "nothing is left");
});

t.test("while the other place does not answer, all stays as it was", async (t) => {
  let isAway = false;
  const away: NamedFiles = Object.assign(Object.create(files), {
    list: async (folder: string) => {
      if (isAway) throw new Error("away");
      return files.list(folder);
    },
  });
  const mirror = await MirroredFolder.open({ files: away, parent: join(root, "copies"), log: quietLog });
  isAway = true;
  await rm(join(source, "p", "b.secret"));
  await mirror.look();
  t.same(await readdir(join(mirror.path, "p")), ["b.secret"]);
  isAway = false;
  await mirror.look();
  t.same(await readdir(join(mirror.path, "p")), []);
  await mirror.stop();
});

t.test(
  "a file that cannot be read is in no other's way, and a store that hangs keeps nobody from stopping",
  async (t) => {
    for (const name of ["a.secret", "b.secret", "c.secret"]) await writeFile(join(source, "p", name), name);
    const broken: NamedFiles = Object.assign(Object.create(files), {
      read: (name: string) => files.read(name === "p/b.secret" ? "p/none" : name),
    });
    const mirror = await MirroredFolder.open({ files: broken, parent: join(root, "copies"), log: quietLog });
    t.same((await readdir(join(mirror.path, "p"))).toSorted(), ["a.secret", "c.secret"]);
    broken.list = () => new Promise(() => undefined);
    void mirror.look();
    await mirror.stop();
    t.same(await readdir(join(root, "copies")), []);
  },
);

t.test("names lead nowhere else", async (t) => {
  for (const name of ["../outside", "p/../../outside", "/etc/passwd", ".hidden", "a//b", "a\0b", ""]) {
    await t.rejects(files.write(name, [Buffer.from("x")]), /no name of a file/, name);
    await t.rejects(files.read(name).next(), /no name of a file/, name);
    await t.rejects(files.remove(name), /no name of a file/, name);
  }
  await t.rejects(files.read("none").next(), FileMissing);
  t.same(await new FolderFiles(join(root, "absent")).list(""), []);
  t.same(await new FolderFiles(join(root, "absent")).folders(), []);
  await t.rejects(
    new FolderFiles("/proc/none").write("a/b", []),
    /ENOENT/,
    "it ends where no folder can be made",
  );
});
