import { readdirSync, readFileSync } from "node:fs";
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

t.test("the README tells of every folder of the sources", async (t) => {
  const told = [...readme.matchAll(/^\| `src\/(\w+)` \|/gm)].map(([, folder]) => folder!);
  const folders = readdirSync(join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  t.same(told.sort(), folders.sort());
});
