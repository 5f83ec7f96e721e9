import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { commitOf } from "./commit.js";
import { makeHeatKernels } from "./heat-kernels.js";
import { bundleDocs, bundlePages, packPages } from "./pages.js";

/** What `dist` holds besides the server's compiled sources; the last part of `npm run build`. */

/** Files that the program reads at run time from beside its code. */
const assets = /\.(sql|mss|html|css|svg|json|png|webp|ico|webmanifest|woff2|md)$/;
/** What is made of other outputs, below. */
const madeOf = /^dist\/src\/(?:viewer\/(?:packed|scripts)|docs\/(?:site|reference)|visual\/kinds\/heat)\//;
const browserProjects = ["src/viewer/browser/tsconfig.json", "src/docs/browser/tsconfig.json"];

function* filesBelow(folder) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}

for (const folder of ["src", "workers"]) {
  for (const path of filesBelow(folder)) {
    if (!assets.test(path) || browserProjects.includes(path)) continue;
    const copy = join("dist", path);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(path, copy);
  }
}

makeHeatKernels();
writeFileSync("dist/commit", commitOf(".") ?? "");

// Outputs of sources that are gone: a removed test must not run on, a removed migration must not be applied.
for (const folder of ["src", "workers", "bench", "test"]) {
  for (const path of filesBelow(join("dist", folder))) {
    const source = path.slice("dist/".length);
    const typescript = source.replace(/\.d\.ts$|\.js(\.map)?$/, ".ts");
    const isMade = madeOf.test(path);
    if (!isMade && !existsSync(source) && !existsSync(typescript)) rmSync(path);
  }
}

for (const project of browserProjects.filter(existsSync)) {
  const compiled = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", project], {
    stdio: "inherit",
  });
  if (compiled.status !== 0) process.exit(1);
}
await bundlePages();
const { buildSite } = await import("../../dist/src/docs/build/site.js");
await buildSite();
await bundleDocs();
await packPages();

// The command's file is executable, for `npx mapwright`.
if (existsSync("dist/src/main.js")) chmodSync("dist/src/main.js", 0o755);
