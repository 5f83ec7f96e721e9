import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { type Config, configKeys, environmentName, loadConfig } from "../../src/config.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const readme = readFileSync(join(root, "README.md"), "utf8");

const valueIn = (config: Config, key: string): unknown =>
  key.split(".").reduce<unknown>((value, part) => (value as Record<string, unknown>)[part], config);

t.test("the README tells of every key of the configuration, and of no other", async (t) => {
  const rows = [...readme.matchAll(/^\| `([\w.]+)` \| `(\w+)` \| (.*?) ?\|/gm)];
  const told = rows.map(([, key, variable]) => `${key} ${variable}`);
  const short: Record<string, string> = { databaseUrl: "DATABASE_URL", redisUrl: "REDIS_URL" };
  t.same(
    told,
    configKeys().map((key) => `${key} ${short[key] ?? environmentName(key)}`),
  );
  for (const [, key = "", , value = ""] of rows) {
    const text = value.replaceAll("`", "");
    const config = loadConfig({ environment: {}, flags: text === "" ? {} : { [key]: text } });
    const given = valueIn(config, key);
    t.same(given, valueIn(loadConfig({ environment: {} }), key), `the default of ${key}`);
    if (text === "") t.ok(given === "" || (Array.isArray(given) && given.length === 0), `none of ${key}`);
  }
});

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
      /^(?:src|workers)\//.test(path!) ? path! : `src/${path}`,
    ),
    ...[...contributing.matchAll(/`((?:src|test|workers)\/[\w./-]+\w)`/g)].map(([, path]) => path!),
  ];
  t.ok(paths.length > 40, `${paths.length} paths`);
  for (const path of paths) t.ok(existsSync(join(root, path)), path);
});
