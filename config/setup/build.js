import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { step } from "./progress.js";

/** The build: run again when a source has changed since the last one. */

const stampPath = "dist/.stamp";
const sources = [
  "src",
  "workers",
  "bench",
  "test",
  "tsconfig.json",
  "package.json",
  "package-lock.json",
  // Pages show files of it.
  "config",
];

function* filesOf(path) {
  if (!existsSync(path)) return;
  if (statSync(path).isFile()) yield path;
  else for (const name of readdirSync(path).sort()) yield* filesOf(join(path, name));
}

function sourceStamp() {
  const hash = createHash("sha256");
  for (const source of sources) {
    for (const path of filesOf(source)) hash.update(`${path}\0`).update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

/** Notes that `dist` is of these sources. */
export const markBuilt = (stamp = sourceStamp()) => writeFileSync(stampPath, stamp);

export async function build() {
  const stamp = sourceStamp();
  if (existsSync(stampPath) && readFileSync(stampPath, "utf8") === stamp) return;
  rmSync(stampPath, { force: true });
  await step("Building", ["npm", "run", "--silent", "build"]);
  markBuilt(stamp);
}
