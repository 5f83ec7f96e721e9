import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { step } from "./progress.js";

/** The npm packages: `npm ci` when node_modules is not what package-lock.json and this machine ask for. */

const stampPath = "node_modules/.mapwright-stamp";

/** Changes whenever the modules must be installed again: their versions, Node's ABI, the system's GDAL, the place
 * of the checkout (Mapnik's install script makes absolute links). */
function wantedStamp() {
  const gdal = spawnSync("gdal-config", ["--version"], { encoding: "utf8" }).stdout ?? "";
  const machine = [process.versions.modules, process.platform, process.arch, gdal.trim(), process.cwd()];
  return createHash("sha256")
    .update(readFileSync("package-lock.json"))
    .update(machine.join("\n"))
    .digest("hex");
}

/** Whether what npm last installed here is what the lock file names. */
function matchesLock() {
  try {
    const wanted = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;
    const present = JSON.parse(readFileSync("node_modules/.package-lock.json", "utf8")).packages;
    return (
      Object.entries(wanted).every(([path, entry]) =>
        path === "" || present[path]
          ? path === "" || present[path].version === entry.version
          : entry.optional,
      ) && Object.keys(present).every((path) => wanted[path])
    );
  } catch {
    return false;
  }
}

/** Whether the native modules load here, each in a process of its own as in the server. */
const loads = () =>
  ["mapnik", "gdal-async"].every(
    (name) => spawnSync(process.execPath, ["-e", `require("${name}")`], { stdio: "ignore" }).status === 0,
  );

/** Whether links of Mapnik's package point to an earlier place of the checkout. */
function pointsElsewhere() {
  const link = `node_modules/mapnik/prebuilds/${process.platform}-${process.arch}/lib`;
  return existsSync(link) && !realpathSync(link).startsWith(`${process.cwd()}/`);
}

/** Notes that the modules are what the lock file and this machine ask for. */
export function markInstalled(stamp = wantedStamp()) {
  // As a new file: of a copy by hard links, the earlier one is that of another checkout too.
  rmSync(stampPath, { force: true });
  writeFileSync(stampPath, stamp);
}

export async function installModules() {
  const stamp = wantedStamp();
  if (existsSync(stampPath) && readFileSync(stampPath, "utf8") === stamp) return;
  // npm was run by hand, or the checkout was moved: the GDAL binding need not be built again.
  const usable = matchesLock();
  if (usable && pointsElsewhere())
    await step("Updating the links of Mapnik's package after a move of the checkout", [
      "npm",
      "rebuild",
      "mapnik",
    ]);
  if (!usable || !loads()) {
    await step(
      "Installing the npm packages and building the GDAL binding (some minutes the first time)",
      ["npm", "ci", "--no-audit", "--no-fund"],
      {
        env: {
          // By name, since "true" would send Mapnik's package, which brings its binaries, to a compiler too.
          npm_config_build_from_source: "gdal-async",
          npm_config_shared_gdal: "true",
          ...headers(),
        },
      },
    );
  }
  markInstalled(stamp);
}

/** Makes node-gyp use the headers that are installed beside Node, if any, instead of downloading them. */
function headers() {
  const prefix = dirname(dirname(process.execPath));
  const present = existsSync(join(prefix, "include/node/node_version.h"));
  return present && !process.env.npm_config_nodedir ? { npm_config_nodedir: prefix } : {};
}

/** Makes `npx mapwright` find this checkout's own command; npm links only those of dependencies. */
export function linkCommand() {
  const link = "node_modules/.bin/mapwright";
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link);
  symlinkSync("../../dist/src/main.js", link);
}
