import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** Plays seeds in processes of their own. */

export interface SeedsRun {
  readonly first: number;
  readonly count: number;
  /** Number of the mutant that is played; undefined = the program as it is. */
  readonly mutant?: number;
  /** Without the shortest trace. */
  readonly found?: boolean;
}

export interface Played {
  /** What run.js ended with: 0 = nothing was wrong, 2 = something was. */
  readonly status: number | null;
  readonly output: string;
}

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Worlds live for a moment: V8 must not come to think that they live for long, and needs no threads to clear them away.
 * With these options the same seeds take three quarters of the time.
 */
const options = [
  "--no-allocation-site-pretenuring",
  "--single-threaded-gc",
  "--min-semi-space-size=16",
  "--max-semi-space-size=16",
];

export async function playSeeds({ first, count, mutant, found }: SeedsRun): Promise<Played> {
  const child = spawn(
    process.execPath,
    [
      ...options,
      ...(mutant === undefined ? [] : ["--import", path("mutate.js")]),
      path("run.js"),
      String(first),
      String(count),
      ...(found ? ["found"] : []),
    ],
    {
      // Without what the runner of tests wants every process to load.
      env: { PATH: process.env.PATH, ...(mutant === undefined ? {} : { MUTANT: String(mutant) }) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status: child.exitCode, output: `${output}${errors}`.trim() };
}
