import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { briefly, failuresOf } from "../failures.js";
import { withSourcePlaces } from "../source-places.js";
import { outcomeOf, runTap } from "../tap.js";

/** What a log shows of a run that failed. */

const text = `TAP version 14
# Subtest: dist/test/a.test.js
    # Subtest: one thing
        ok 1 - fine
        # Subtest: inner
            not ok 1 - numbers are equal
              ---
              diff: |
                -2
                +1
              ...
            1..1
        not ok 2 - inner # time=2ms
          ---
          at: nowhere
          ...
        1..2
    not ok 1 - one thing # time=3ms
    1..1
not ok 1 - dist/test/a.test.js # time=9ms
# Subtest: dist/test/b.test.js
    ok 1 - fine
    1..1
ok 2 - dist/test/b.test.js # time=9ms
not ok 3 - dist/test/c.test.js # time=1ms
  ---
  signal: SIGKILL
  ...
`;

t.test("each assertion that failed is shown once, where it stands and why", (t) => {
  const [first = "", second = "", ...more] = failuresOf(text).split("\n\n");
  t.match(first, /^dist\/test\/a\.test\.js > one thing > inner > numbers are equal\n/);
  t.match(first, /-2\n +\+1$/);
  t.match(second, /^dist\/test\/c\.test\.js # time=1ms\n +signal: SIGKILL$/);
  t.same(more, []);
  t.end();
});

t.test("at the end of a log the names of failures stand once more, and of a few what was found", (t) => {
  t.equal(
    briefly(failuresOf(text)),
    [
      "  dist/test/a.test.js > one thing > inner > numbers are equal",
      ...["    -2", "    +1"],
      "  dist/test/c.test.js # time=1ms",
    ].join("\n"),
  );
  t.equal(briefly("a\n  +1\n\n".repeat(6).trim()), "  a\n".repeat(6).trimEnd(), "of many the names");
  t.end();
});

t.test("places are those of the sources", (t) => {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const place = /dist\/\S+:\d+:\d+/.exec(new Error().stack ?? "")![0];
  const [, line = "", column = ""] = /^at (?:.*\/)?test\/setup\/failures\.test\.ts:(\d+):(\d+)$/.exec(
    withSourcePlaces(`at ${place}`, root),
  )!;
  const source = readFileSync(join(root, "test/setup/failures.test.ts"), "utf8").split("\n");
  t.match(source[Number(line) - 1]?.slice(Number(column) - 1), /^new Error/);
  const other = "at dist/none.js:1:1 and dist/test/setup/failures.test.js";
  t.equal(withSourcePlaces(other, root), other);
  t.end();
});

t.test("a run without failures has nothing to show", (t) => {
  t.equal(failuresOf("ok 1 - dist/test/b.test.js\n"), "");
  t.end();
});

t.test("long explanations and lists of failures are cut", (t) => {
  const long = failuresOf(`not ok 1 - a\n  ---\n${"  line\n".repeat(100)}  ...\n`);
  t.equal(long.split("\n").length, 42);
  t.match(failuresOf("not ok 1 - a\n".repeat(30)), /and 10 more$/);
  t.end();
});

t.test("assertions are counted, tests that hold others are not", (t) => {
  const tap = `TAP version 14
# Subtest: one
    # Subtest: inner
        ok 1 - a
        not ok 2 - b
    not ok 1 - inner # time=1ms
    ok 2
not ok 1 - one # time=2ms
ok 2 - later # SKIP because
# Subtest: two # 2
    ok 1 - two # 2
    1..1
ok 3 - two # 2 # time=1ms
1..3
`;
  t.match(outcomeOf(tap, { name: "x", status: 1 }), {
    passed: 3,
    failed: 1,
    skipped: 1,
    failures: /^x > one > inner > b/,
  });
  t.end();
});

t.test("a file that ends before its tests have failed is a failure", (t) => {
  t.match(outcomeOf("", { name: "x", status: 1 }), { passed: 0, failed: 1, failures: "x" });
  t.match(outcomeOf("ok 1 - a\n", { name: "x", status: 9 }), { passed: 1, failed: 1, failures: "x" });
  t.end();
});

t.test(
  "a file that fails beside others is run again by itself, unless many do or it looks for what must never happen",
  async (t) => {
    const root = t.testdir({});
    const file = (name: string, body: string) => writeFileSync(join(root, name), body);
    const once = (name: string) =>
      `import { existsSync, writeFileSync } from "node:fs"; const isSecond = existsSync("${name}.seen"); writeFileSync("${name}.seen", "");
     console.log(isSecond ? "ok 1 - later" : "not ok 1 - at first"); console.log("1..1"); process.exitCode = isSecond ? 0 : 1;`;
    file("fine.mjs", 'console.log("ok 1 - fine\\n1..1");');
    file("bad.mjs", 'console.log("not ok 1 - bad\\n1..1"); process.exitCode = 1;');
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "freshness"]) file(`${name}.mjs`, once(name));
    const run = (...files: string[]) => {
      const folder = mkdtempSync(join(root, "run-"));
      const signal = new AbortController().signal;
      return runTap({ ...{ root, folder, signal }, files, environment: process.env });
    };
    t.match(await run("fine.mjs", "a.mjs"), { passed: 2, failed: 0 });
    t.match(await run("fine.mjs", "bad.mjs"), { passed: 1, failed: 1 });
    t.match(await run("freshness.mjs"), { passed: 0, failed: 1 });
    t.match(
      await run(..."bcdef".split("").map((name) => `${name}.mjs`)),
      { passed: 0, failed: 5 },
      "too many",
    );
    t.match(await run("g.mjs", "bad.mjs"), { passed: 1, failed: 1 });
  },
);

t.test("what a file has started ends with it", async (t) => {
  const root = t.testdir({
    "left.mjs": `import { spawn } from "node:child_process"; import { writeFileSync } from "node:fs";
      const child = spawn("sleep", ["300"], { stdio: "ignore" }); writeFileSync("pid", String(child.pid)); child.unref();
      console.log("ok 1 - fine\\n1..1"); process.exit(0);`,
  });
  const folder = mkdtempSync(join(root, "run-"));
  const signal = new AbortController().signal;
  t.match(await runTap({ root, folder, signal, files: ["left.mjs"], environment: process.env }), {
    passed: 1,
    failed: 0,
  });
  const pid = Number(readFileSync(join(root, "pid"), "utf8"));
  const isThere = () => {
    try {
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
    } catch {
      return false;
    }
  };
  for (let waited = 0; isThere() && waited < 10_000; waited += 50)
    await new Promise((resolve) => setTimeout(resolve, 50));
  t.notOk(isThere());
});
