import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { writeFileAtomically } from "../../src/commands/atomic-file.js";

/** Files that take the place of others. */

const folder = await mkdtemp(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rm(folder, { recursive: true }));
const { signal } = new AbortController();

async function* text(): AsyncGenerator<string, void> {
  yield "new";
}

t.test("a file that only its owner may read stays so", async (t) => {
  const file = join(folder, "private");
  await writeFile(file, "old");
  await chmod(file, 0o600);
  await writeFileAtomically(file, async () => text(), signal);
  t.equal(await readFile(file, "utf8"), "new");
  t.equal((await stat(file)).mode & 0o777, 0o600);
});

t.test("what fails leaves the file as it was, and nothing beside it", async (t) => {
  const file = join(folder, "kept");
  await writeFile(file, "old");
  const names = await readdir(folder);
  const fail = async (): Promise<AsyncIterable<string>> => {
    throw new Error("Nothing to write.");
  };
  await t.rejects(writeFileAtomically(file, fail, signal), { message: "Nothing to write." });
  t.equal(await readFile(file, "utf8"), "old");
  t.same(await readdir(folder), names);
});
