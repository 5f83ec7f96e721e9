import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startLocalServices } from "../src/local/services.js";
import { createLog } from "../src/log.js";

/**
 * `node dist/test/run.js [part of a file name …]`: the suite on a PostgreSQL and a Redis of its own, in a folder
 * that is removed afterwards. The last line is `N passed, N failed`, counted in assertions.
 */

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");

function testFiles(filters: readonly string[]): string[] {
  return readdirSync(here, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => filters.length === 0 || filters.some((part) => name.includes(part)))
    .sort()
    .map((name) => relative(root, join(here, name)));
}

/** Environment of the tests: ours, but for what would lead them to somebody's real installation. */
function testEnvironment(added: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const foreign = /^(MAPWRIGHT_|PG[A-Z]|DATABASE_URL$|REDIS_URL$|TAP_)/;
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name))),
    ...added,
  };
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Counts by the summary that tap writes last: `# { total: 10, pass: 5, fail: 3, todo: 1, skip: 1 }`. */
function countsOf(tapText: string): Counts {
  const summary = [...tapText.matchAll(/^# \{ (.*) \}$/gm)].at(-1)?.[1] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0);
  return { passed: count("pass"), failed: count("fail"), skipped: count("skip") + count("todo") };
}

/** Where nobody watches a terminal: a line for each file that is done, so that a log shows how far it came. */
function reportFiles(tapPath: string): () => void {
  let reported = 0;
  const report = () => {
    if (!existsSync(tapPath)) return;
    const lines = readFileSync(tapPath, "utf8").match(/^(not )?ok \d+ - \S+\.test\.js.*$/gm) ?? [];
    for (const line of lines.slice(reported)) {
      const [, no, name, ms] = /^(not )?ok \d+ - (\S+)(?:.*# time=([\d.]+)ms)?/.exec(line) ?? [];
      console.log(
        `${no ? "FAILED" : "ok    "} ${name?.replace("dist/", "")} (${(Number(ms ?? 0) / 1000).toFixed(1)} s)`,
      );
    }
    reported = lines.length;
  };
  const timer = setInterval(report, 500);
  return () => {
    clearInterval(timer);
    report();
  };
}

async function runTap(
  files: readonly string[],
  folder: string,
  urls: Readonly<Record<string, string>>,
): Promise<Counts> {
  const tapPath = join(folder, "results.tap");
  const temporary = join(folder, "tmp");
  mkdirSync(temporary);
  const terminal = process.stdout.isTTY;
  const options = [
    "--disable-coverage",
    "--allow-incomplete-coverage",
    "--jobs=2",
    `--output-file=${tapPath}`,
  ];
  const child = spawn(
    join(root, "node_modules/.bin/tap"),
    [
      "run",
      ...options,
      `--reporter=${terminal ? "base" : "min"}`,
      ...(terminal ? [] : ["--no-color"]),
      ...files,
    ],
    {
      cwd: root,
      env: testEnvironment({ ...urls, TMPDIR: temporary }),
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  const end = () => child.kill("SIGTERM");
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, end);
  const stopReporting = terminal ? () => undefined : reportFiles(tapPath);
  const status = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
  stopReporting();
  const counts = countsOf(existsSync(tapPath) ? readFileSync(tapPath, "utf8") : "");
  return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

async function main(): Promise<boolean> {
  const filters = process.argv.slice(2);
  const files = testFiles(filters);
  if (files.length === 0) {
    console.log(`No test file matches ${filters.join(", ")}.\n0 passed, 0 failed`);
    return false;
  }
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  // A second Ctrl-C, or one while the services start, must not leave the folder behind.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  let interrupted = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      interrupted = true;
    });
  }
  const services = await startLocalServices({
    dataDir: join(folder, "services"),
    log: createLog("error", "services"),
    durable: false,
  });
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    if (!interrupted && services.superuserUrl && services.redisUrl) {
      const urls = {
        MAPWRIGHT_TEST_DATABASE_URL: services.superuserUrl,
        MAPWRIGHT_TEST_REDIS_URL: services.redisUrl,
      };
      counts = await runTap(files, folder, urls);
    }
  } finally {
    await services.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
  return !interrupted && counts.passed > 0 && counts.failed === 0;
}

process.exitCode = (await main()) ? 0 : 1;
