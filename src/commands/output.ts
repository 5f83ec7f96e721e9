import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { writeFileAtomically } from "./atomic-file.js";
import { type CommandEnvironment, report } from "./environment.js";

/** FILE that stands for standard output. */
export const standardOutput = "-";

export const placeOf = (file: string): string => (file === standardOutput ? "the standard output" : file);

/** Who read the standard output has left, as `head` does when it has enough: no error. */
export class OutputClosed extends Error {}
/** Exit status by the convention of shells: 128 + SIGPIPE. */
export const closedStatus = 141;

export const isClosedPipe = (error: unknown): boolean => (error as { code?: unknown }).code === "EPIPE";

/** The result of a command that wrote FILE; as JSON it has `file`, and is no part of what went to standard output. */
export function reportFile(
  env: CommandEnvironment,
  command: Command,
  file: string,
  { message, value }: { readonly message: string; readonly value: object },
): void {
  const to = file === standardOutput ? env.stderr : env.stdout;
  report(env, command, { message, value: { ...value, file } }, to);
}

/** Writes content to FILE, which appears when it is complete, or to standard output. @throws as `writeFileAtomically`; OutputClosed */
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
    if (file === standardOutput && isClosedPipe(error)) throw new OutputClosed();
    throw error;
  }
}
