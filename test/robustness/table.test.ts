import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

/** The table of what the server withstands has a test for each row, and a row for each test file beside it. */

const table = readFileSync("test/robustness/README.md", "utf8");

/** A row: its number, and the tests that hold it. */
interface Row {
  readonly number: number;
  readonly tests: readonly { readonly file: string; readonly name: string }[];
}

/** @returns the rows under a heading, in their order */
function rowsOf(heading: string): Row[] {
  const section = table.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^\| (\d+) \|.*\| ([^|]*) \|$/gm)].map(([, number, tests]) => ({
    number: Number(number),
    tests: testsOf(tests!),
  }));
}

/** @param text files in backticks, each followed by names of its tests in quotation marks */
function testsOf(text: string): Row["tests"] {
  return [...text.matchAll(/`([^`]+)`: ((?:"[^"]*"(?:, )?)+)/g)].flatMap(([, file, names]) =>
    [...names!.matchAll(/"([^"]*)"/g)].map(([, name]) => ({ file: file!, name: name! })),
  );
}

/** @returns the names of the tests in a source text, with placeholders as they stand there */
function namesIn(source: string): Set<string> {
  const names = [...source.matchAll(/\.test\(\s*(["'`])(.*?)\1/g)].map(([, , name]) => name!);
  // Tests over a list are named by its members.
  if (/\.test\(\s*\w+\.name,/.test(source))
    names.push(...[...source.matchAll(/^\s*name: "(.*)",$/gm)].map(([, name]) => name!));
  return new Set(names);
}

const known = new Map<string, Set<string>>();
for (const file of readdirSync("test", { recursive: true, encoding: "utf8" }))
  if (file.endsWith(".test.ts")) known.set(file, namesIn(readFileSync(join("test", file), "utf8")));

const sections = ["What is sent", "What is broken"].map((heading) => ({ heading, rows: rowsOf(heading) }));

for (const { heading, rows } of sections) {
  t.test(`${heading}: each row has a test that there is`, (t) => {
    t.ok(rows.length > 10, `${rows.length} rows`);
    t.same(
      rows.map(({ number }) => number),
      rows.map((_, index) => index + 1),
      "numbered from 1",
    );
    const without = rows.filter(({ tests }) => tests.length === 0).map(({ number }) => number);
    t.same(without, [], "rows without a test");
    const missing = rows.flatMap(({ number, tests }) =>
      tests
        .filter(({ file, name }) => !known.get(file)?.has(name))
        .map(({ file, name }) => `${number}: ${file}: ${name}`),
    );
    t.same(missing, [], "tests that there are not");
    t.end();
  });
}

t.test("every line of the tables was read as a row", (t) => {
  const lines = table.split("\n").filter((line) => line.startsWith("|") && !/^\|(?: #|---)/.test(line));
  t.equal(sections.flatMap(({ rows }) => rows).length, lines.length);
  t.end();
});

t.test("each test file of this folder holds a row", (t) => {
  const named = new Set(
    sections.flatMap(({ rows }) => rows.flatMap(({ tests }) => tests)).map(({ file }) => file),
  );
  const own = [...known.keys()].filter((file) => file.startsWith("robustness/"));
  t.ok(own.length > 20);
  t.same(
    own.filter((file) => file !== "robustness/table.test.ts" && !named.has(file)),
    [],
  );
  t.end();
});
