import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SetupError, step } from "./progress.js";

/** The system packages that are needed, by Debian's names. */

const oldestPostgresql = 15;

function hasCommand(name) {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin"];
  return folders.filter(Boolean).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Versions of the PostgreSQL server here that are new enough, newest first. */
function postgresqlVersions() {
  const root = "/usr/lib/postgresql";
  return (existsSync(root) ? readdirSync(root) : [])
    .filter((name) => Number(name) >= oldestPostgresql && existsSync(join(root, name, "bin/postgres")))
    .map(Number)
    .sort((one, other) => other - one);
}

const hasPostgis = () =>
  postgresqlVersions().some((version) =>
    existsSync(`/usr/share/postgresql/${version}/extension/postgis.control`),
  );

/** Packages for PostgreSQL with PostGIS: for the server that is here, else the newest that apt knows. */
function postgresqlPackages() {
  const known = spawnSync("apt-cache", ["search", "--names-only", "^postgresql-[0-9]+-postgis-3$"], {
    encoding: "utf8",
  });
  const offered = [...(known.stdout ?? "").matchAll(/^postgresql-(\d+)-postgis-3 /gm)].map((match) =>
    Number(match[1]),
  );
  const installable = offered.filter((version) => version >= oldestPostgresql);
  const version =
    postgresqlVersions()[0] ?? (installable.length > 0 ? Math.max(...installable) : oldestPostgresql);
  return [`postgresql-${version}`, `postgresql-${version}-postgis-3`];
}

const hasVarnishModules = () =>
  ["x86_64", "aarch64", "arm"].some((machine) =>
    ["gnu", "gnueabihf"].some((libc) =>
      existsSync(`/usr/lib/${machine}-linux-${libc}/varnish/vmods/libvmod_xkey.so`),
    ),
  );

const isSet = (...names) => names.some((name) => process.env[name]);

/** Each requirement: when it is wanted, how to see that it is met, and the packages that meet it. */
function needs(purpose) {
  const ownDatabase = purpose !== "start" || !isSet("DATABASE_URL", "MAPWRIGHT_DATABASE_URL");
  const ownRedis = purpose !== "start" || !isSet("REDIS_URL", "MAPWRIGHT_REDIS_URL");
  return [
    { wanted: ownDatabase, met: hasPostgis, packages: postgresqlPackages },
    { wanted: ownRedis, met: () => hasCommand("redis-server"), packages: () => ["redis-server"] },
    { wanted: true, met: () => hasCommand("gdal-config"), packages: () => ["libgdal-dev"] },
    { wanted: true, met: () => hasCommand("g++"), packages: () => ["g++"] },
    { wanted: true, met: () => hasCommand("make"), packages: () => ["make"] },
    { wanted: true, met: () => hasCommand("python3"), packages: () => ["python3"] },
    {
      wanted: true,
      met: () => existsSync("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
      packages: () => ["fonts-dejavu-core"],
    },
    // Lakes and rivers of the base map, without which a server starts too.
    {
      wanted: true,
      optional: purpose === "start",
      met: () => existsSync("/usr/share/gmt-gshhg/binned_river_h.nc"),
      packages: () => ["gmt-gshhg-high"],
    },
    // Names of the demo's cities in other languages. Systems that are set to install no translations never have them.
    {
      wanted: true,
      optional: true,
      met: () => existsSync("/usr/share/locale/de/LC_MESSAGES/geonames.mo"),
      packages: () => ["libgeonames-common"],
    },
    {
      wanted: purpose !== "start",
      met: () => hasCommand("chromium-headless-shell") || hasCommand("chromium"),
      packages: () => ["chromium-headless-shell"],
    },
    // Imports and exports are measured beside ogr2ogr.
    { wanted: purpose !== "start", met: () => hasCommand("ogr2ogr"), packages: () => ["gdal-bin"] },
    // The examples of the documentation are run, and its configurations read, as they stand there.
    { wanted: purpose === "test", met: () => hasCommand("caddy"), packages: () => ["caddy"] },
    { wanted: purpose === "test", met: () => hasCommand("haproxy"), packages: () => ["haproxy"] },
    { wanted: purpose === "test", met: () => hasCommand("systemd-analyze"), packages: () => ["systemd"] },
    { wanted: purpose === "test", met: () => hasCommand("curl"), packages: () => ["curl"] },
    { wanted: purpose === "test", met: () => hasCommand("wrk"), packages: () => ["wrk"] },
    { wanted: purpose === "test", met: () => hasCommand("jq"), packages: () => ["jq"] },
    { wanted: purpose === "test", met: () => hasCommand("openssl"), packages: () => ["openssl"] },
    // Machines that lose their power are network namespaces.
    { wanted: purpose === "test", met: () => hasCommand("ip"), packages: () => ["iproute2"] },
    // Caches in front of the server.
    { wanted: purpose !== "start", met: () => hasCommand("varnishd"), packages: () => ["varnish"] },
    {
      wanted: purpose !== "start",
      met: () => hasVarnishModules(),
      packages: () => ["varnish-modules"],
    },
    { wanted: purpose === "test", met: () => hasCommand("nginx"), packages: () => ["nginx-light"] },
    { wanted: purpose === "test", met: () => hasCommand("pgbouncer"), packages: () => ["pgbouncer"] },
    // Alerts are fired, and the page of metrics is read.
    { wanted: purpose === "test", met: () => hasCommand("promtool"), packages: () => ["prometheus"] },
    // Settings of theirs are read.
    { wanted: purpose === "test", met: () => hasCommand("patroni"), packages: () => ["patroni"] },
    // A store for files with the interface of S3.
    {
      wanted: purpose === "test",
      met: () => existsSync("/usr/lib/python3/dist-packages/swift/common/middleware/s3api"),
      packages: () => ["python3-swift"],
    },
  ];
}

const missingNeeds = (purpose) => needs(purpose).filter(({ wanted, met }) => wanted && !met());
const missingPackages = (purpose) => missingNeeds(purpose).flatMap(({ packages }) => packages());

/** What to put before a command so that it runs as root; undefined when there is no way. */
function rootPrefix() {
  if (process.getuid() === 0) return [];
  if (!hasCommand("sudo")) return undefined;
  if (spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0) return ["sudo", "-n"];
  if (!existsSync("/dev/tty") || !process.stdout.isTTY) return undefined;
  console.log("Packages of the system are missing; sudo may ask for your password to install them.");
  return spawnSync("sudo", ["-v"], { stdio: "inherit" }).status === 0 ? ["sudo", "-n"] : undefined;
}

/**
 * Installs the packages that are missing for `purpose` (start, test or bench).
 * @throws {SetupError} naming them, where that cannot be done from here
 */
export async function installPackages(purpose) {
  if (missingNeeds(purpose).every(({ optional }) => optional)) return;
  const prefix = hasCommand("apt-get") ? rootPrefix() : undefined;
  if (!prefix) {
    const names = missingPackages(purpose).join(" ");
    throw new SetupError(
      "These packages of the system are missing, and they cannot be installed from here (neither root nor sudo):\n\n" +
        `  ${names}\n\nInstall them, then run the same command again:\n\n` +
        `  apt-get update && apt-get install --no-install-recommends ${names}\n\n` +
        "What they are for, and how to do with fewer: src/docs/operating/install.md",
    );
  }
  const script = [...prefix, "sh", "config/setup/install-packages.sh"];
  await step("Reading the lists of packages", [...script, "update"], { ownGroup: false });
  // Only now apt knows which versions it has.
  const names = missingPackages(purpose);
  await step(`Installing ${names.join(", ")}`, [...script, "install", ...names], { ownGroup: false });
  const still = missingNeeds(purpose)
    .filter(({ optional }) => !optional)
    .flatMap(({ packages }) => packages());
  if (still.length > 0)
    throw new SetupError(
      `These packages were installed, but what is needed of them is still missing: ${still.join(" ")}`,
    );
}
