import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

/** The commit that `mapwright --version` tells. */

const { commitOf } = (await import(new URL("../../../config/setup/commit.js", import.meta.url).href)) as {
  commitOf(folder: string): string | undefined;
};

t.test("a checkout has a commit, and what was unpacked has none", async (t) => {
  const folder = t.testdir({ "a.txt": "a" });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
      cwd: folder,
      encoding: "utf8",
    }).trim();
  t.equal(commitOf(folder), undefined);
  git("init", "--quiet");
  t.equal(commitOf(folder), undefined, "nor has it one before the first");
  git("add", ".");
  git("commit", "--quiet", "--message", "first");
  git("tag", "--annotate", "v1", "--message", "v1");
  const commit = git("rev-parse", "--short=12", "HEAD");
  t.equal(commitOf(folder), commit);
  const within = join(folder, "unpacked");
  mkdirSync(within);
  t.equal(commitOf(within), undefined);
  writeFileSync(join(folder, "a.txt"), "b");
  t.equal(commitOf(folder), `${commit}-dirty`);
});
