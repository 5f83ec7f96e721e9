#!/usr/bin/env node
import { constants, setPriority } from "node:os";
import { closedStatus, isClosedPipe } from "./commands/output.js";
import { buildProgram, type CommandEnvironment, runProgram } from "./commands/program.js";

/** The command line: wires the commands to this process and runs one. */

const env: CommandEnvironment = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  yieldToOthers: () => setPriority(constants.priority.PRIORITY_LOW),
};
const args = process.argv.slice(2);
// Of `mapwright … | head`: what is left to write is for nobody. Other errors of a stream are none of ours to hide.
let isClosed = false;
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error) => {
    if (!isClosedPipe(error)) throw error;
    isClosed = true;
    process.exitCode = closedStatus;
  });
const status = await runProgram(await buildProgram(env, args), env, args);
process.exitCode = isClosed ? closedStatus : status;
