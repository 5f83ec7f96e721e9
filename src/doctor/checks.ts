import { execFile } from "node:child_process";
import { mkdtemp, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { reservedMapsSql } from "../catalog/maps.js";
import type { Config } from "../config.js";
import type { DatabaseHost } from "../database-hosts.js";
import { reasonOf } from "../errors.js";
import { programName } from "../program-name.js";
import { adviceOnRefusal } from "../storage/connection-errors.js";
import { askServer } from "../storage/known-server.js";
import { pendingMigrations } from "../storage/migrate.js";
import { requireOwnSession, UnfitSession } from "../storage/own-session.js";
import { Primary } from "../storage/primary.js";
import { requirePooler } from "../storage/require-pooler.js";
import { keptAlive, sessionOptions } from "../storage/session-settings.js";
import { defaultFace } from "../style/fonts.js";
import { loadPlugins } from "../visual/plugins.js";
import { bad, type Check, good } from "./check.js";

/** The checks of `mapwright doctor`. */

export function checkNode(): Check[] {
  const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
  const fits = (major === 20 && minor >= 9) || major === 22;
  const found = `Node ${process.versions.node}`;
  return [fits ? good("Node", found) : bad("Node", found, "install Node 20 (20.9 or later) or 22")];
}

/** Plug-ins for visualizations. */
export async function checkPlugins(entries: readonly string[]): Promise<Check[]> {
  const { plugins, problems } = await loadPlugins(entries);
  return [
    ...(plugins.size > 0 ? [good("plug-ins", [...plugins.keys()].join(", "))] : []),
    ...problems.map(({ entry, reason }) =>
      bad(`plug-in ${entry}`, reason, "mend the module, or take it out of visualPlugins"),
    ),
  ];
}

/** Connected to the server that takes writes, if the address names several. */
export const connected = (address: string): Promise<pg.Client> =>
  new Primary(address).connect((host) => connectedTo(host));

async function connectedTo({ url }: Pick<DatabaseHost, "url">, isPooler = false): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    ...(!isPooler && { options: sessionOptions({}) }),
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
    ...keptAlive,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

/** Version, extensions and schema. */
export async function checkPostgres(url: string, directUrl = ""): Promise<Check[]> {
  if (directUrl === "") return checkServer(url, false);
  const checks = await checkServer(directUrl, true);
  return checks.some(({ ok }) => !ok) ? checks : [...checks, await checkPooler(url, directUrl)];
}

/** Whether the pooler can be lived with. */
async function checkPooler(url: string, directUrl: string): Promise<Check> {
  const direct = await connected(directUrl);
  let pooled: pg.Client | undefined;
  try {
    const { rows } = await direct.query<{ server: string }>(askServer);
    pooled = await new Primary(url, { isPooled: true }).connect((host) => connectedTo(host, true));
    await requirePooler(pooled, rows[0]!.server);
    return good("pooler", "hands out sessions of that server");
  } catch (error) {
    if (error instanceof UnfitSession) return bad("pooler", error.message, error.advice);
    const advice = adviceOnRefusal(error) ?? "start it, or let DATABASE_URL lead to PostgreSQL itself";
    return bad("pooler", `cannot be used: ${reasonOf(error)}`, advice);
  } finally {
    await Promise.all([direct, pooled].map((client) => client?.end().catch(() => undefined)));
  }
}

/** @param isDirect past a pooler */
async function checkServer(url: string, isDirect: boolean): Promise<Check[]> {
  let client: pg.Client;
  try {
    client = await connected(url);
  } catch (error) {
    const found = error instanceof UnfitSession ? error.message : `cannot be reached: ${reasonOf(error)}`;
    return [
      bad(
        "PostgreSQL",
        found,
        adviceOnRefusal(error) ??
          "start it (`npm start` starts a private one), or give its address in DATABASE_URL",
      ),
    ];
  }
  try {
    const version = (await client.query<{ server_version: string }>("show server_version")).rows[0]!
      .server_version;
    const checks = [
      Number.parseInt(version, 10) >= 15
        ? good("PostgreSQL", version)
        : bad("PostgreSQL", version, "15 or later is needed"),
    ];
    await requireOwnSession(client, () => connected(url), isDirect);
    const extensions = await client.query<{ name: string; version: string | null; offered: boolean }>(
      `select wanted.name, e.extversion as version, a.name is not null as offered
       from unnest(array['postgis', 'pg_trgm', 'unaccent']) wanted (name)
       left join pg_extension e on e.extname = wanted.name left join pg_available_extensions a on a.name = wanted.name`,
    );
    for (const { name, version, offered } of extensions.rows) {
      const advice = offered
        ? `as a superuser of that database: CREATE EXTENSION ${name}`
        : "install the packages postgresql-15-postgis-3 and postgresql-contrib";
      checks.push(version === null ? bad(name, "absent", advice) : good(name, version));
    }
    const schema = await checkSchema(client);
    return [...checks, schema, ...(schema.ok ? await checkMapCodes(client) : [])];
  } catch (error) {
    if (error instanceof UnfitSession) return [bad("PostgreSQL", error.message, error.advice)];
    return [bad("PostgreSQL", reasonOf(error), "see the database's log")];
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function checkSchema(client: pg.ClientBase): Promise<Check> {
  try {
    const { pending, isEmpty, later } = await pendingMigrations(client);
    if (later.length > 0)
      return {
        ...good("schema", `of a newer version (${later.join(", ")})`),
        advice: "this version goes on with it, and tidies up no files: start the newer one soon",
      };
    if (pending.length === 0) return good("schema", "up to date");
    const what = isEmpty ? "absent" : `lacks ${pending.map(({ name }) => name).join(", ")}`;
    return bad("schema", what, "start the server once, or `upgrade`: it updates the schema");
  } catch (error) {
    return bad("schema", reasonOf(error), `see ${programName()} help upgrade`);
  }
}

/** Maps whose address is that of something else since an upgrade. */
async function checkMapCodes(client: pg.ClientBase): Promise<Check[]> {
  const { rows } = await client.query<{ id: number; project: string; code: string }>(reservedMapsSql);
  if (rows.length === 0) return [];
  const found = `reserved: ${rows.map(({ project, code }) => `${project}/${code}`).join(", ")}`;
  const advice = rows.map(({ id, code }) => `UPDATE mapwright.map SET code = '${code}2' WHERE id = ${id}`);
  return [
    bad("codes of maps", found, `give them others, as the owner of the database: ${advice.join("; ")}`),
  ];
}

/** Native libraries, each loaded in a process of its own: a crash ends only that process. */
export async function checkNative(): Promise<Check[]> {
  const [mapnik, gdal] = await Promise.all([run<MapnikReport>(mapnikScript), run<GdalReport>(gdalScript)]);
  const checks: Check[] = [];
  const reinstall = (name: string) => `run \`npm ci\` again; it builds ${name} with \`npm start\``;
  if (typeof mapnik === "string") checks.push(bad("Mapnik", mapnik, reinstall("Mapnik")));
  else {
    checks.push(
      mapnik.postgis
        ? good("Mapnik", mapnik.version)
        : bad("Mapnik", `${mapnik.version} without its PostGIS plug-in`, reinstall("Mapnik")),
    );
    checks.push(
      mapnik.fonts.includes(defaultFace)
        ? good("fonts", `${mapnik.fonts.length} faces`)
        : bad("fonts", `${defaultFace} is missing`, "install the package fonts-dejavu-core"),
    );
  }
  if (typeof gdal === "string")
    checks.push(bad("GDAL", gdal, `install libgdal-dev and ${reinstall("gdal-async")}`));
  else {
    checks.push(
      gdal.missing.length === 0
        ? good("GDAL", gdal.version)
        : bad(
            "GDAL",
            `${gdal.version} without ${gdal.missing.join(", ")}`,
            "build gdal-async against the system's GDAL: `npm start` does",
          ),
    );
  }
  return checks;
}

interface MapnikReport {
  readonly version: string;
  readonly postgis: boolean;
  readonly fonts: readonly string[];
}
interface GdalReport {
  readonly version: string;
  readonly missing: readonly string[];
}

/** Those that imports and exports use. */
const drivers = [
  "ESRI Shapefile",
  "MapInfo File",
  "DXF",
  "XLS",
  "GML",
  "GPKG",
  "FlatGeobuf",
  "GTiff",
  "PNG",
  "JPEG",
];

const mapnikScript = `
  const mapnik = require("mapnik");
  mapnik.register_default_fonts();
  mapnik.register_system_fonts();
  mapnik.register_default_input_plugins();
  report({ version: mapnik.versions.mapnik, postgis: mapnik.datasources().includes("postgis"), fonts: mapnik.fonts() });`;
const gdalScript = `
  const gdal = require("gdal-async");
  const has = new Set(gdal.drivers.getNames());
  report({ version: gdal.version, missing: ${JSON.stringify(drivers)}.filter((name) => !has.has(name)) });`;

/** The report of a script, or the reason why there is none. */
async function run<Report>(script: string): Promise<Report | string> {
  const prelude = `const require = (await import("node:module")).createRequire(${JSON.stringify(import.meta.url)});
    const report = (value) => process.stdout.write("\\n" + JSON.stringify(value));`;
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", prelude + script],
      {
        timeout: 30_000,
        killSignal: "SIGKILL",
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" },
      },
    );
    return JSON.parse(stdout.slice(stdout.lastIndexOf("\n") + 1)) as Report;
  } catch (error) {
    const { stderr, signal } = error as { stderr?: string; signal?: string };
    const line = stderr?.split("\n").find((text) => /^\s*\S*Error\b/.test(text));
    return `cannot be loaded: ${line?.trim() ?? (signal ? `ended by ${signal}` : reasonOf(error))}`;
  }
}

/** Whether files can be created in the data folder, or beside it while it does not exist. */
export async function checkData(dataDir: string): Promise<Check[]> {
  const path = resolve(dataDir);
  for (const folder of [path, dirname(path)]) {
    try {
      await rmdir(await mkdtemp(join(folder, ".doctor-")));
      return [good("data folder", folder === path ? path : `${path} (will be created)`)];
    } catch (error) {
      const absent = (error as { code?: string }).code === "ENOENT";
      if (absent && folder === path) continue;
      return [
        bad(
          "data folder",
          `${path}: ${reasonOf(error)}`,
          "make it writable, or set dataDir to another folder",
        ),
      ];
    }
  }
  return [];
}

/** Who can read `/metrics`. */
export function checkMetrics(config: Pick<Config, "metrics" | "metricsToken">): Check {
  if (!config.metrics) return good("metrics", "not served");
  return good(
    "metrics",
    config.metricsToken === ""
      ? "for this machine; a proxy on it must send X-Forwarded-For"
      : "for this machine, and for others with metricsToken",
  );
}
