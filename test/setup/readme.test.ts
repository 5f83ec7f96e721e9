import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { configKeys, environmentName } from "../../src/config.js";

const readme = join(dirname(fileURLToPath(import.meta.url)), "../../../README.md");

t.test("the README tells of every key of the configuration, and of no other", async (t) => {
  const rows = [...readFileSync(readme, "utf8").matchAll(/^\| `([\w.]+)` \| `(\w+)` \|/gm)];
  const told = rows.map(([, key, variable]) => `${key} ${variable}`);
  const short: Record<string, string> = { databaseUrl: "DATABASE_URL", redisUrl: "REDIS_URL" };
  t.same(
    told,
    configKeys().map((key) => `${key} ${short[key] ?? environmentName(key)}`),
  );
});
