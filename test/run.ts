import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startLocalServices } from "../src/local-services/services.js";
import { createLog } from "../src/log.js";
import { createTemplates } from "./support/database.js";
import { type PoolMode, type SuitePooler, startSuitePooler } from "./support/pgbouncer.js";
import { type Counts, runTap } from "./tap.js";

/**
 * `node dist/test/run.js [part of a file name …]`: the suite on a PostgreSQL and a Redis of its own, in a folder
 * that is removed afterwards. With MAPWRIGHT_TEST_POOLER=transaction (or session) the servers of the tests reach their databases
 * by way of PgBouncer in that mode. The last line is `N passed, N failed`, counted in assertions.
 */

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");

/**
 * What starts servers and programs by the dozen, in the order in which it begins. One of these runs at a time: with four, what
 * each waits for comes late.
 */
const heavy = [
  "as-started/",
  "docs/machine",
  "bench/",
  "simulation/",
  "two-editors/",
  "robustness/largest-inputs",
  "docs/",
  "serve/",
  "viewer/map",
];

/** Its place in `heavy`; after all of these for the others. */
function turnOf(name: string): number {
  const turn = heavy.findIndex((part) => name.startsWith(part));
  return turn < 0 ? heavy.length : turn;
}

const isHeavy = (file: string): boolean => turnOf(file.replace(/^dist\/test\//, "")) < heavy.length;

function testFiles(filters: readonly string[]): string[] {
  return readdirSync(here, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => filters.length === 0 || filters.some((part) => name.includes(part)))
    .sort()
    .sort((one, other) => turnOf(one) - turnOf(other))
    .map((name) => relative(root, join(here, name)));
}

/** Most of what these take by themselves is to load the program. */
const mayShare = (file: string): boolean =>
  /^dist\/test\/(api|catalog|changes|features|search|style|tiles|transfer|viewer)\//.test(file);

/** Environment of the tests: ours, but for what would lead them to somebody's real installation. */
function testEnvironment(added: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const foreign = /^(MAPWRIGHT_|PG[A-Z]|DATABASE_URL$|REDIS_URL$|TAP_)/;
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name))),
    ...added,
  };
}

/** Aborts on the first signal that asks us to end; the usual clean-up then follows. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => controller.abort());
  return controller.signal;
}

const gigabyte = 2 ** 30;
/** What all files of tests that run at a time keep there is a quarter of that. */
const roomBytes = 8 * gigabyte;

/**
 * Where the files of the tests go: in memory, where there is much of it. Hundreds of databases are made, and many a test waits
 * for what is written: on a slow disk, for longer than for anything else.
 */
function scratchFolder(): string {
  try {
    const shared = "/dev/shm";
    const { bavail, bsize, type } = statfsSync(shared);
    const [, available] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8")) ?? [];
    const tmpfs = 0x01021994;
    const isRoomy = bavail * bsize >= roomBytes && Number(available) * 1024 >= 2 * roomBytes;
    if (type === tmpfs && isRoomy) return shared;
  } catch {
    // No such machine.
  }
  return tmpdir();
}

async function runSuite(files: readonly string[], folder: string, signal: AbortSignal): Promise<Counts> {
  let pooler: SuitePooler | undefined;
  const services = await startLocalServices({
    dataDir: join(folder, "services"),
    log: createLog("error", "services"),
    durable: false,
  });
  try {
    if (signal.aborted || !services.superuserUrl || !services.redisUrl)
      return { passed: 0, failed: 0, skipped: 0 };
    await createTemplates(services.superuserUrl);
    const mode = process.env.MAPWRIGHT_TEST_POOLER;
    if (mode) pooler = await startSuitePooler(services.superuserUrl, mode as PoolMode);
    const environment = testEnvironment({
      MAPWRIGHT_TEST_DATABASE_URL: services.superuserUrl,
      MAPWRIGHT_TEST_REDIS_URL: services.redisUrl,
      ...(pooler && { MAPWRIGHT_TEST_POOLER_URL: pooler.url }),
    });
    return await runTap({ root, files, isHeavy, mayShare, folder, environment, signal });
  } finally {
    await pooler?.stop();
    await services.stop();
  }
}

async function main(): Promise<boolean> {
  const filters = process.argv.slice(2);
  const files = testFiles(filters);
  const signal = interruption();
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  if (files.length === 0) console.log(`No test file matches ${filters.join(", ")}.`);
  else {
    const folder = mkdtempSync(join(scratchFolder(), "mapwright-test-"));
    try {
      counts = await runSuite(files, folder, signal);
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
  return !signal.aborted && counts.passed > 0 && counts.failed === 0;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(`The tests could not be run: ${(error as Error).message}`);
  process.exitCode = 1;
}
