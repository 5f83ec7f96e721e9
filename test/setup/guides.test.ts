import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const guide = readFileSync(join(root, "src/README.md"), "utf8");

t.test("the guide to the sources tells of every folder", async (t) => {
  const rows = [...guide.matchAll(/^\| (`src\/.*?`) \|/gm)].map(([, names]) => names!);
  const told = rows.flatMap((names) =>
    [...names.matchAll(/`src\/([\w-]+)(?:\/\w+)?`/g)].map(([, name]) => name!),
  );
  const folders = readdirSync(join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  t.same([...new Set(told)].sort(), folders.sort());
});

/** A path as the guide writes it: files and folders of `src` without it. */
const written = (path: string): string =>
  /^(?:src|test|workers|config|bench)(?:\/|$)/.test(path) ? path : `src/${path}`;

t.test("the files and folders that guides name are there", async (t) => {
  const contributing = readFileSync(join(root, ".github/CONTRIBUTING.md"), "utf8");
  const paths = [
    ...[...guide.matchAll(/`([a-z][\w-]*(?:\/[\w.-]+)+|[a-z-]+\.ts)`/g)].map(([, path]) => written(path!)),
    ...[...contributing.matchAll(/`((?:src|test|workers)\/[\w./-]+\w)`/g)].map(([, path]) => path!),
  ];
  t.ok(paths.length > 200, `${paths.length} paths`);
  // A new type of column is the guide's own example.
  for (const path of paths) t.ok(existsSync(join(root, path)) || path.endsWith("/uuid.ts"), path);
});

t.test("what the guide says is in a file is there", async (t) => {
  const promises = [...guide.matchAll(/((?:`[\w ]+`(?:,| and) )*`[\w ]+`) in `([\w/.-]+\.ts)`/g)].flatMap(
    ([, names, path]) =>
      [...names!.matchAll(/`([\w ]+)`/g)].map(([, name]) => [name!, written(path!)] as const),
  );
  t.ok(promises.length > 25, `${promises.length} names`);
  for (const [name, path] of promises)
    t.match(readFileSync(join(root, path), "utf8"), new RegExp(`\\b${name}\\b`), `${name} in ${path}`);
});

t.test("the guide links to its own parts", async (t) => {
  const headings = new Set(
    [...guide.matchAll(/^#+ (.+)$/gm)].map(
      ([, heading]) => `#${heading!.toLowerCase().replaceAll(" ", "-")}`,
    ),
  );
  for (const [, target] of guide.matchAll(/\]\((#[^)]*)\)/g)) t.ok(headings.has(target!), `${target}`);
});
