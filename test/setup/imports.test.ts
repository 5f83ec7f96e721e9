import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";

const script = join(dirname(fileURLToPath(import.meta.url)), "../../../config/setup/imports.js");

/** Runs the check on a project made of `files` (path → text). */
function check(t: Test, files: Readonly<Record<string, string>>): { status: number | null; stderr: string } {
  const root = mkdtempSync(join(tmpdir(), "mapwright-imports-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return spawnSync(process.execPath, [script, root], { encoding: "utf8" });
}

const allowed: Record<string, Record<string, string>> = {
  "an upper part imports a lower one": { "src/api/maps.ts": 'import { tile } from "../geo/tile.js";' },
  "a part imports itself": { "src/tiles/a.ts": 'import { b } from "./b.js";' },
  "a part uses its own lower files, and so do parts in between": {
    "src/catalog/load.ts": 'import type { State } from "./state.js";',
    "src/style/default.ts": 'import type { State } from "../catalog/state.js";',
  },
  "workers import messages and packages of native code": {
    "workers/render/a.ts":
      'import mapnik from "mapnik"; import type { M } from "../../src/hosts/messages.js";',
  },
  "the viewer's page imports its own files": { "src/viewer/browser/a.ts": 'import { b } from "./b.js";' },
};

const refused: Record<string, [files: Record<string, string>, message: RegExp]> = {
  "a lower part imports an upper one": [
    { "src/geo/tile.ts": '\n\nimport { maps } from "../api/maps.js";' },
    /^src\/geo\/tile\.ts:3 imports \.\.\/api\/maps\.js: src\/api stands above src\/geo\.$/m,
  ],
  "it is only a type": [
    { "src/storage/a.ts": 'import type { X } from "../catalog/catalog.js";' },
    /src\/catalog stands above src\/storage/,
  ],
  "it is re-exported": [
    { "src/geo/a.ts": 'export * from "../errors.js";' },
    /src\/errors stands above src\/geo/,
  ],
  "it is imported when needed": [
    { "src/geo/a.ts": 'export const b = () => import("../errors.js");' },
    /src\/errors stands above src\/geo/,
  ],
  "neighbours import each other": [
    { "src/tiles/a.ts": 'import { b } from "../features/b.js";' },
    /side by side/,
  ],
  "a lower file of a part imports the rest of it": [
    { "src/catalog/state.ts": 'import { load } from "./load.js";' },
    /src\/catalog stands above src\/catalog\/state/,
  ],
  "the domain uses http": [
    { "src/demo/a.ts": 'import { R } from "../http/types.js";' },
    /only .* may use src\/http/,
  ],
  "something else than http knows the web server": [
    { "src/api/a.ts": 'import uws from "uWebSockets.js";' },
    /only src\/http may use uWebSockets\.js/,
  ],
  "the front loads native geo code": [
    { "src/tiles/a.ts": 'import m from "mapnik";' },
    /only workers may use mapnik/,
  ],
  "a worker imports the catalogue": [
    { "workers/transfer/a.ts": 'import { c } from "../../src/catalog/catalog.js";' },
    /workers may import .* only/,
  ],
  "the server imports a worker": [
    { "src/hosts/a.ts": 'import "../../workers/host.js";' },
    /does not import workers/,
  ],
  "the viewer's page imports the server": [
    { "src/viewer/browser/a.ts": 'import { tile } from "../../geo/tile.js";' },
    /src\/viewer\/browser may import/,
  ],
  "a part has no place in the order": [
    { "src/odds/a.ts": 'import { t } from "../geo/tile.js";' },
    /has no place/,
  ],
};

for (const [name, files] of Object.entries(allowed)) {
  t.test(`the check of imports is silent when ${name}`, async (t) => {
    t.match(check(t, files), { status: 0, stderr: "" });
  });
}

for (const [name, [files, message]] of Object.entries(refused)) {
  t.test(`the check of imports fails when ${name}`, async (t) => {
    t.match(check(t, files), { status: 1, stderr: message });
  });
}
