import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";

const project = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const { knip } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
const modules = join(project, "node_modules");

/** Runs the check for unused code, set as in package.json, on a project made of `files` (path → text). */
function check(t: Test, dependencies: readonly string[], files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), "mapwright-unused-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const settings = {
    name: "example",
    type: "module",
    dependencies: Object.fromEntries(dependencies.map((name) => [name, "*"])),
    knip: { ...knip, ignoreDependencies: [] },
  };
  const all = { "package.json": JSON.stringify(settings), "tsconfig.json": "{}", ...files };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync(modules, join(root, "node_modules"));
  const program = join(modules, "knip/bin/knip.js");
  const { status, stdout } = spawnSync(process.execPath, [program, "--no-config-hints"], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, found: stdout.split("\n").map((line) => line.trim().split(/\s+/).join(" ")) };
}

t.test("the check is silent when all that is exported and all packages are used", async (t) => {
  const files = {
    "src/main.ts": 'import pg from "pg";\nimport { used } from "./geo/used.js";\nused(pg);\n',
    "src/geo/used.ts":
      "export interface Told { a: 1 }\nexport const used = (told: unknown): Told => told as Told;\n",
  };
  t.same(check(t, ["pg"], files), { status: 0, found: [""] });
});

t.test(
  "the check names exports, files and packages that nothing uses, and packages that are missing",
  async (t) => {
    const { status, found } = check(t, ["pg", "pino"], {
      "src/main.ts": 'import "pg";\nimport "zod";\nimport { used } from "./geo/used.js";\nused();\n',
      "src/geo/used.ts":
        "export const used = () => dead();\nexport function dead() {}\nexport type Gone = 1;\n",
      "src/geo/unused.ts": "export const nothing = 1;\n",
    });
    t.equal(status, 1);
    for (const line of [
      "src/geo/unused.ts",
      "pino package.json",
      "zod src/main.ts:2:",
      "dead function src/geo/used.ts:2:",
      "Gone type src/geo/used.ts:3:",
    ])
      t.ok(
        found.some((text) => text.startsWith(line)),
        `${line} … in ${found.join(" | ")}`,
      );
  },
);
