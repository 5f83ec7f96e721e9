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

t.test("the files that guides name are there", async (t) => {
  const contributing = readFileSync(join(root, ".github/CONTRIBUTING.md"), "utf8");
  const paths = [
    ...[...guide.matchAll(/`([a-z-]+(?:\/[\w.-]+)*\/[\w-]+\.(?:ts|sql)|[a-z-]+\.ts)`/g)].map(([, path]) =>
      /^(?:src|test|workers)\//.test(path!) ? path! : `src/${path}`,
    ),
    ...[...contributing.matchAll(/`((?:src|test|workers)\/[\w./-]+\w)`/g)].map(([, path]) => path!),
  ];
  t.ok(paths.length > 40, `${paths.length} paths`);
  for (const path of paths) t.ok(existsSync(join(root, path)), path);
});
