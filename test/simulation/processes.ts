import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Mutant, window } from "./mutants.js";
import { mutatedModule } from "./mutated.js";

/** Runs seeds in child processes. */

export interface SeedsRun {
  readonly first: number;
  readonly count: number;
  /** Seeds with which more worlds begin, `window` each. */
  readonly beyond?: readonly number[];
  /** Undefined = the unchanged program. */
  readonly mutant?: Mutant;
  /** Stops at the first failure, without shrinking it. */
  readonly found?: boolean;
}

export interface Played {
  /** Exit code of run.js: 0 = passed, 2 = failed. */
  readonly status: number | null;
  readonly output: string;
}

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Options of V8's garbage collector for short-lived worlds: a large young generation, no pretenuring, no threads. They save
 * a quarter of the time.
 */
const options = [
  "--no-allocation-site-pretenuring",
  "--single-threaded-gc",
  "--min-semi-space-size=16",
  "--max-semi-space-size=16",
];

export async function playSeeds({ first, count, beyond = [], mutant, found }: SeedsRun): Promise<Played> {
  const child = spawn(
    process.execPath,
    [
      ...options,
      ...(mutant === undefined ? [] : ["--import", path("mutate.js")]),
      path("run.js"),
      [`${first}+${count}`, ...beyond.map((seed) => `${seed}+${window}`)].join(),
      ...(found ? ["found"] : []),
    ],
    {
      // Without NODE_OPTIONS, by which the test runner loads modules into every process.
      env: {
        PATH: process.env.PATH,
        ...(mutant === undefined ? {} : { MUTANT: JSON.stringify(mutatedModule(mutant)) }),
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status: child.exitCode, output: `${output}${errors}`.trim() };
}
