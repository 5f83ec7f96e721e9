import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";

const script = join(dirname(fileURLToPath(import.meta.url)), "../../../config/setup/imports.js");
const root = mkdtempSync(join(tmpdir(), "mapwright-imports-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));

/** Runs the check on a project made of `files` (path → text). */
function check(files: Readonly<Record<string, string>>): { status: number | null; lines: string[] } {
  rmSync(root, { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
  return { status, lines: stderr.split("\n") };
}

const allowed = {
  "src/api/upper-imports-lower.ts": 'import { tile } from "../geo/tile.js";',
  "src/tiles/part-imports-itself.ts": 'import { b } from "./b.js";',
  "src/catalog/part-imports-its-lower-file.ts": 'import type { State } from "./state.js";',
  "src/style/part-between-imports-lower-file.ts": 'import type { State } from "../catalog/state.js";',
  "workers/render/worker-imports-native-code.ts": 'import mapnik from "mapnik";',
  "workers/render/worker-imports-messages.ts": 'import type { M } from "../../src/hosts/messages.js";',
  "src/viewer/browser/page-imports-itself.ts": 'import { b } from "./b.js";',
};

t.test("the check of imports is silent when all go one way", async (t) => {
  t.same(check(allowed), { status: 0, lines: [""] });
});

/** File, text, and what the check says of it. */
const refused: readonly [path: string, text: string, message: string][] = [
  ["src/geo/value.ts", 'import { maps } from "../api/maps.js";', "src/api stands above src/geo."],
  [
    "src/storage/type.ts",
    'import type { X } from "../catalog/catalog.js";',
    "src/catalog stands above src/storage.",
  ],
  ["src/geo/exported-again.ts", 'export * from "../errors.js";', "src/errors stands above src/geo."],
  [
    "src/geo/when-needed.ts",
    'export const b = () => import("../errors.js");',
    "src/errors stands above src/geo.",
  ],
  [
    "src/tiles/neighbour.ts",
    'import { b } from "../features/b.js";',
    "src/tiles and src/features stand side by side; what both need belongs below them.",
  ],
  ["src/catalog/state.ts", 'import { l } from "./load.js";', "src/catalog stands above src/catalog/state."],
  ["src/demo/http.ts", 'import { R } from "../http/types.js";', "may use src/http."],
  ["src/api/web-server.ts", 'import uws from "uWebSockets.js";', "only src/http may use uWebSockets.js."],
  ["src/tiles/native.ts", 'import m from "mapnik";', "only workers may use mapnik."],
  ["workers/transfer/catalog.ts", 'import { c } from "../../src/catalog/catalog.js";', "src/log only."],
  [
    "src/hosts/worker.ts",
    'import "../../workers/host.js";',
    "the server does not import workers; it runs elsewhere.",
  ],
  [
    "src/viewer/browser/server.ts",
    'import { t } from "../../geo/tile.js";',
    "may import src/viewer/browser, src/features/value-format, src/latin, src/style/default-style, src/style/allowed, src/style/fonts, src/style/lexer, src/style/source, src/geo/geometry-kind, src/visual/class-colours, src/visual/color-brewer only.",
  ],
  [
    "src/odds/unplaced.ts",
    'import { t } from "../geo/tile.js";',
    "no place in the order of config/setup/imports.js.",
  ],
];

t.test("the check of imports names each import that goes the wrong way, and its line", async (t) => {
  const { status, lines } = check(Object.fromEntries(refused.map(([path, text]) => [path, `\n\n${text}`])));
  t.equal(status, 1);
  for (const [path, , message] of refused) {
    const line = lines.find((text) => text.startsWith(`${path}:3 imports `)) ?? "";
    t.ok(line.endsWith(message), `${path}: ${line}`);
  }
  t.match(lines.at(-2), `${refused.length} imports go the wrong way`);
});

t.test("the check of imports names each circle of files once", async (t) => {
  const { status, lines } = check({
    "src/geo/a.ts": 'import { b } from "./b.js";',
    "src/geo/b.ts": 'import type { C } from "./c.js";',
    "src/geo/c.ts": 'export { a } from "./a.js";',
    "src/geo/d.ts": 'import { a } from "./a.js";',
  });
  t.equal(status, 1);
  t.equal(lines[0], "src/geo/a imports src/geo/b imports src/geo/c imports src/geo/a: a circle.");
  t.match(lines.at(-2), "1 imports go the wrong way");
});
