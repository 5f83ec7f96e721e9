import { spawn } from "node:child_process";

/** GDAL's own converter (Debian's gdal-bin), beside which imports and exports are measured. */

/** @throws Error with what it said */
export function ogr2ogr(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn("ogr2ogr", args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...environment },
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-1_000);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`ogr2ogr: ${said}`))));
  });
}
