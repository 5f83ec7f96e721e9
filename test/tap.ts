import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { failuresOf } from "./failures.js";

/** Runs test files with tap and counts their assertions. */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface TapRun {
  /** The project's folder, which `files` are relative to. */
  readonly root: string;
  readonly files: readonly string[];
  /** Folder for results and for what the tests write to the temporary folder. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Ends the tests. */
  readonly signal: AbortSignal;
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
      const seconds = (Number(ms ?? 0) / 1000).toFixed(1);
      console.log(`${no ? "FAILED" : "ok    "} ${name?.replace("dist/", "")} (${seconds} s)`);
    }
    reported = lines.length;
  };
  const timer = setInterval(report, 500);
  return () => {
    clearInterval(timer);
    report();
  };
}

/** In a group of its own, so that ending it ends the test files and what they started too. */
function spawnTap(run: TapRun, tapPath: string, terminal: boolean): ChildProcess {
  const temporary = join(run.folder, "tmp");
  mkdirSync(temporary);
  const options = [
    "--disable-coverage",
    "--allow-incomplete-coverage",
    "--jobs=2",
    `--output-file=${tapPath}`,
  ];
  // Of the reporters for logs this one alone passes on what test files say before they end in the middle.
  const output = terminal ? ["--reporter=base"] : ["--reporter=tap"];
  return spawn(join(run.root, "node_modules/.bin/tap"), ["run", ...options, ...output, ...run.files], {
    cwd: run.root,
    env: { ...run.environment, TMPDIR: temporary },
    stdio: ["ignore", terminal ? "inherit" : "ignore", terminal ? "inherit" : "pipe"],
    detached: true,
  });
}

function endGroup(child: ChildProcess): void {
  const send = (signal: NodeJS.Signals) => {
    try {
      if (child.pid) process.kill(-child.pid, signal);
    } catch {
      // All gone.
    }
  };
  send("SIGTERM");
  setTimeout(send, 3_000, "SIGKILL").unref();
}

/** Runs the files, two at a time; shows failures, and on a terminal what is running. */
export async function runTap(run: TapRun): Promise<Counts> {
  const tapPath = join(run.folder, "results.tap");
  const terminal = process.stdout.isTTY === true;
  const child = spawnTap(run, tapPath, terminal);
  // Its reporters move the cursor even where there is none; the last line must be clean.
  child.stderr?.setEncoding("utf8");
  child.stderr?.on("data", (text: string) => process.stdout.write(stripVTControlCharacters(text)));
  const end = () => endGroup(child);
  run.signal.addEventListener("abort", end, { once: true });
  const stopReporting = terminal ? () => undefined : reportFiles(tapPath);
  const status = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  run.signal.removeEventListener("abort", end);
  stopReporting();
  const results = existsSync(tapPath) ? readFileSync(tapPath, "utf8") : "";
  const failures = terminal ? "" : failuresOf(results);
  if (failures !== "") console.log(`\n${failures}\n`);
  const counts = countsOf(results);
  return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}
