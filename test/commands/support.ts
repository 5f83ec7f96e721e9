import { PassThrough, Readable } from "node:stream";
import { buildProgram, runProgram } from "../../src/commands/program.js";

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** What comes on standard input, which is no terminal. */
  readonly input?: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** Runs one command line of `mapwright` in this process. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const env = { stdin: Readable.from([options.input ?? ""]), stdout, stderr, variables: options.variables };
  const status = await runProgram(await buildProgram(env), env, args);
  const read = (stream: PassThrough) => (stream.read() as Buffer | null)?.toString() ?? "";
  return { status, stdout: read(stdout), stderr: read(stderr) };
}
