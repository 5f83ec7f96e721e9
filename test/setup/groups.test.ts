import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { groupsOf, partsOf } from "../groups.js";
import { type Counts, runTap } from "../tap.js";

/** Test files that share a process. */

const mayShare = (file: string) => file.startsWith("a/") || file.startsWith("b/");

t.test("neighbours of a folder are a group, others stay by themselves", (t) => {
  t.same(groupsOf(["z/1", "a/1", "a/2", "b/1", "c/1", "c/2", "a/3"], mayShare), [
    ["z/1"],
    ["a/1", "a/2"],
    ["b/1"],
    ["c/1"],
    ["c/2"],
    ["a/3"],
  ]);
  t.same(groupsOf(["a/1", "a/2"]), [["a/1"], ["a/2"]]);
  const many = Array.from({ length: 20 }, (_, i) => `a/${i}`);
  t.same(
    groupsOf(many, mayShare).map(({ length }) => length),
    [8, 8, 4],
  );
  t.end();
});

t.test("each file of a group is told by itself, also when the process ends in the middle", (t) => {
  const text = `TAP version 14
# Subtest: /r/one
    # Subtest: inner
        ok 1 - fine
        1..1
    ok 1 - inner # time=1ms
    1..1
ok 1 - /r/one # time=2ms
# took 1.5 0.7 /r/one
# Subtest: /r/two
    not ok 1 - bad
`;
  const [one, two, ...more] = partsOf(["one", "two", "three"], "/r", { tapText: text, status: 1 });
  t.match(one, { path: "one", status: 0, wall: 1.5, cpu: 0.7 });
  t.match(one?.tapText, /^# Subtest: inner\n {4}ok 1 - fine\n/);
  t.match(two, { path: "two", status: 1, tapText: "not ok 1 - bad" });
  t.same(more, [], "it was not begun");
  t.end();
});

t.test("an error after the last test of a group is not lost", (t) => {
  const text = "# Subtest: /r/one\n    ok 1 - fine\nok 1 - /r/one\n# took 1 1 /r/one\n";
  t.match(partsOf(["one"], "/r", { tapText: text, status: 1 }), [{ path: "one", status: 1 }]);
  t.end();
});

/** In the project's folder, where they find tap. */
function filesWith(bodies: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(fileURLToPath(new URL("../../groups-", import.meta.url)));
  for (const [name, body] of Object.entries(bodies))
    writeFileSync(join(folder, `${name}.mjs`), `import t from "tap";\n${body}`);
  return folder;
}

async function run(root: string, ...names: string[]): Promise<Counts> {
  const folder = mkdtempSync(join(root, "run-"));
  const { signal } = new AbortController();
  const files = names.map((name) => `${name}.mjs`);
  return runTap({ ...{ root, folder, signal, files }, mayShare: () => true, environment: process.env });
}

t.test(
  "files share a process, each with its own teardown, and one that ends it leaves the others be",
  async (t) => {
    const ends = "t.teardown(() => { globalThis.open = undefined; });";
    const root = filesWith({
      first: `globalThis.open = globalThis.process.mark = "first"; ${ends} t.test("x", async (t) => { t.equal(globalThis.open, "first"); });`,
      second: `t.equal(globalThis.open, undefined, "the teardown before has run");
      t.test("same", async (t) => t.equal(globalThis.process.mark, "first"));
      t.test("names of folders stay short", async (t) => t.notMatch(t.testdirName, "last"));`,
      breaks: `t.test("y", async (t) => { t.pass("so far"); process.exit(3); });`,
      last: `t.test("z", async (t) => { t.ok(true); t.test("inner", async (t) => t.ok(true)); });`,
    });
    t.teardown(async () => rm(root, { recursive: true }));
    t.match(await run(root, "first", "second", "breaks", "last"), { passed: 7, failed: 1 });
  },
);
