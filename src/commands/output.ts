import { pipeline } from "node:stream/promises";
import { writeFileAtomically } from "./atomic-file.js";
import type { CommandEnvironment } from "./environment.js";

/** FILE that stands for standard output. */
export const standardOutput = "-";

export const placeOf = (file: string): string => (file === standardOutput ? "the standard output" : file);

/** Writes content to FILE, which appears when it is complete, or to standard output. @throws as `writeFileAtomically` */
export async function writeOutput(
  env: CommandEnvironment,
  file: string,
  make: () => Promise<AsyncIterable<string | Uint8Array>>,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (file === standardOutput) await pipeline(await make(), env.stdout, { end: false, signal });
    else await writeFileAtomically(file, make, signal);
  } catch (error) {
    // Errors after an interruption are caused by it.
    signal.throwIfAborted();
    throw error;
  }
}
