import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { briefly, failuresOf } from "./failures.js";
import { groupsOf, type Part, partsOf } from "./groups.js";
import { withSourcePlaces } from "./source-places.js";
import { Times } from "./times.js";

/**
 * Runs test files, some at a time, and counts their assertions. A test file is a program that writes TAP. The runner of tap
 * itself is not used: what it loads into each process takes longer than many a test.
 */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface TapRun {
  /** The project's folder, which `files` are relative to. */
  readonly root: string;
  readonly files: readonly string[];
  /** Whether a file is one of those of which one runs at a time, beside others; default: none is. */
  readonly isHeavy?: (file: string) => boolean;
  /** Whether a file may share a process with others of its folder; default: none does. */
  readonly mayShare?: (file: string) => boolean;
  /** Folder for what the tests write to the temporary folder. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Ends the tests. */
  readonly signal: AbortSignal;
}

/**
 * Many wait for a while, for a lease or a deadline: so there are two more than the cores of a small machine. With three, a
 * fifth of its time was left.
 */
const jobs = 4;
/**
 * Programs that want a processor, for each there is. With more of them two files run at a time until there are fewer: on a slow
 * machine four get no more done than two, and what each waits for comes late.
 */
const mostLoad = 3.5;
const atLeastJobs = 2;
const groupProgram = fileURLToPath(new URL("group.js", import.meta.url));
const nodeOptions = ["--import", fileURLToPath(new URL("plain-promises.js", import.meta.url))];
/** Of a file and each of its tests, unless they ask for more: several times what the longest of them takes on a slow machine. */
const timeoutSeconds = 1_200;
/** Of a whole file: above what any test asks for. One that is run by itself may be asked for more than in a run of the suite. */
const longestMs = 30 * 60_000;
const longestAloneMs = 6 * 3_600_000;
/** What is shown of the standard error of a file that fails. */
const mostSaid = 20_000;

/**
 * A file that fails beside another is run again by itself: with little of the machine, what a test waits for may come too
 * late. It is named at the end, to be mended. With more than these there is another reason.
 */
const mostAgain = 4;

/** Not those that look for what must never happen: once is enough there. */
const mayRunAgain = (file: string): boolean => !/simulation|freshness|fuzz|cdn\/varnish/.test(file);

interface Outcome extends Counts {
  readonly failures: string;
}

/** Runs the files and writes a line for each that is done; at the end what failed. */
export async function runTap(run: TapRun): Promise<Counts> {
  const temporary = join(run.folder, "tmp");
  mkdirSync(temporary);
  const environment = {
    ...run.environment,
    TMPDIR: temporary,
    TAP: "1",
    TAP_TIMEOUT: String(timeoutSeconds),
  };
  const isHeavy = run.isHeavy ?? (() => false);
  const heavy = groupsOf(run.files.filter(isHeavy));
  const light = groupsOf(
    run.files.filter((file) => !isHeavy(file)),
    run.mayShare,
  );
  const byFile = new Map<string, Outcome>();
  const times = new Times();
  let running = 0;
  const calm = async () => {
    while (running >= atLeastJobs && loadavg()[0]! > mostLoad * availableParallelism() && !run.signal.aborted)
      await delay(1_000);
  };
  const work = async (lane: (readonly string[])[]) => {
    for (;;) {
      if (lane.length > 0) await calm();
      const group = lane.shift();
      if (!group || run.signal.aborted) return;
      running++;
      const { outcomes, left } = await runGroup(group, { ...run, environment }, times);
      running--;
      for (const [file, outcome] of outcomes) byFile.set(file, outcome);
      if (left.length > 0) lane.unshift(left);
    }
  };
  const workOn = async (first: (readonly string[])[], then: (readonly string[])[]) => {
    await work(first);
    await work(then);
  };
  await Promise.all(
    Array.from({ length: jobs }, (_, job) => (job === 0 ? workOn(heavy, light) : workOn(light, heavy))),
  );
  const failed = [...byFile].filter(([, outcome]) => outcome.failed > 0);
  const failures = failed.flatMap(([, { failures }]) => (failures === "" ? [] : [failures]));
  if (failures.length > 0) console.log(`\n${withSourcePlaces(failures.join("\n\n"), run.root)}\n`);
  if (failed.length <= mostAgain) {
    for (const [file] of failed) {
      if (!mayRunAgain(file) || run.signal.aborted) continue;
      const { outcomes } = await runGroup([file], { ...run, environment }, times);
      const outcome = outcomes.get(file);
      if (!outcome || outcome.failed > 0) continue;
      byFile.set(file, outcome);
      console.log(`UNSTEADY ${file}: it failed beside others, as told above, and not by itself.`);
    }
  }
  console.log(times.longest());
  // Once more and briefly: of a long log its end is what is kept.
  for (const [file, outcome] of byFile)
    if (outcome.failed > 0) console.log(`FAILED ${file}\n${briefly(outcome.failures)}`);
  const outcomes = [...byFile.values()];
  const sum = (count: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failed }) => failed),
    skipped: sum(({ skipped }) => skipped),
  };
}

interface Ended {
  /** What it wrote to its standard output. */
  readonly tapText: string;
  /** The end of what it wrote to its standard error. */
  readonly said: string;
  readonly status: number;
  /** Seconds. */
  readonly wall: number;
  readonly cpu: number;
}

/** Runs a program of Node with its arguments until it ends, or must end. */
async function runProgram(
  program: readonly string[],
  { root, environment, signal }: TapRun,
  { longest, times }: { readonly longest: number; readonly times: Times },
): Promise<Ended> {
  const started = performance.now();
  // In a group of its own, so that ending it ends what it started too.
  const child = spawn(process.execPath, [...nodeOptions, ...program], {
    cwd: root,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let tapText = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    tapText += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-mostSaid);
  });
  let cpu = 0;
  child.once("exit", () => {
    cpu = times.ofEndedNow();
  });
  const end = () => endGroup(child);
  const late = setTimeout(end, longest);
  signal.addEventListener("abort", end, { once: true });
  const status = await new Promise<number>((resolve) => {
    child.once("error", (error) => {
      said += error.message;
      resolve(1);
    });
    child.once("close", (code) => resolve(code ?? 1));
  });
  clearTimeout(late);
  signal.removeEventListener("abort", end);
  // What it started and did not end, as when it broke off.
  endGroup(child);
  return { tapText, said, status, cpu, wall: (performance.now() - started) / 1000 };
}

/** @returns what its files have come to, and those that were not begun, as when one of them ended the process */
async function runGroup(
  files: readonly string[],
  run: TapRun,
  times: Times,
): Promise<{ readonly outcomes: ReadonlyMap<string, Outcome>; readonly left: readonly string[] }> {
  const isAlone = files.length === 1;
  const program = isAlone ? files : [groupProgram, ...files.map((file) => join(run.root, file))];
  const longest = run.files.length === 1 ? longestAloneMs : longestMs * files.length;
  const ended = await runProgram(program, run, { longest, times });
  const whole = { path: files[0]!, ...ended };
  const parts = isAlone ? [whole] : partsOf(files, run.root, ended);
  const outcomes = new Map(parts.map((part) => [part.path, told(part, times)]));
  const hasFailed = [...outcomes.values()].some(({ failed }) => failed > 0);
  if (hasFailed && ended.said !== "") console.log(withSourcePlaces(ended.said, run.root).trimEnd());
  return { outcomes, left: files.filter((file) => !outcomes.has(file)) };
}

/** What a file has come to; writes a line of it. */
function told({ path, tapText, status, wall, cpu }: Part, times: Times): Outcome {
  const name = path.replace(/^dist\//, "");
  times.add({ name, wall, cpu });
  const outcome = outcomeOf(tapText, { name, status });
  const sign = outcome.failed > 0 ? "FAILED" : "ok    ";
  console.log(`${sign} ${name} (${wall.toFixed(1)} s, ${cpu.toFixed(1)} s of processors)`);
  return outcome;
}

/**
 * What a file's TAP says.
 * @param file.status of the process: a file may end before its first test, or in the middle
 */
export function outcomeOf(
  tapText: string,
  { name, status }: { readonly name: string; readonly status: number },
): Outcome {
  const result = status === 0 ? "ok" : "not ok";
  // As a test that the file's tests stand in.
  const lines = tapText.split("\n").map((line) => (line === "" ? "" : `    ${line}`));
  const nested = [`# Subtest: ${name}`, ...lines, `${result} 1 - ${name}`].join("\n");
  const failures = failuresOf(nested);
  const counts = countsOf(tapText);
  return {
    ...counts,
    failed: status === 0 ? counts.failed : Math.max(1, counts.failed),
    failures,
  };
}

/** Counts assertions: results of tests that hold others do not count. */
function countsOf(tapText: string): Counts {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  /** Names of the open tests, by their depth. */
  const open = new Map<number, string>();
  for (const line of tapText.split("\n")) {
    const [, blanks = "", subtest, not, what = ""] =
      /^( *)(?:# Subtest: (.*)|(not )?ok \d+(?: - (.*))?)$/.exec(line) ?? [];
    if (subtest !== undefined) {
      open.set(blanks.length, subtest);
      continue;
    }
    if (!/^ *(?:not )?ok \d/.test(line)) continue;
    const test = open.get(blanks.length);
    if (test !== undefined && (what === test || what.startsWith(`${test} # `))) {
      open.delete(blanks.length);
      if (!/ # (?:SKIP|TODO)\b/i.test(what)) continue;
    }
    if (/ # (?:SKIP|TODO)\b/i.test(what)) skipped++;
    else if (not === undefined) passed++;
    else failed++;
  }
  return { passed, failed, skipped };
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
