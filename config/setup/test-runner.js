import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { step } from "./progress.js";

/** The test runner tap, which generates code for the plugins that package.json names. */

const stampPath = "node_modules/.mapwright-tap";

/**
 * Generates that code after an installation. tap would do so itself when it first runs, but that run still starts test
 * files with its default plugins, whose TypeScript loader cannot load every package.
 */
export async function buildTestRunner() {
  const { tap, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const stamp = JSON.stringify([tap.plugin, devDependencies.tap]);
  if (existsSync(stampPath) && readFileSync(stampPath, "utf8") === stamp) return;
  await step("Preparing the test runner", ["node_modules/.bin/tap", "build"]);
  writeFileSync(stampPath, stamp);
}
