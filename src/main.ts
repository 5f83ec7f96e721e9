#!/usr/bin/env node
import { constants, setPriority } from "node:os";
import * as importCommand from "./commands/import.js";
import { closedStatus, isClosedPipe } from "./commands/output.js";
import { buildProgram, type CommandEnvironment, runProgram } from "./commands/program.js";
import * as serveCommand from "./commands/serve.js";

/** The command line: wires the commands to this process and runs one. */

const env: CommandEnvironment = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  yieldToOthers: () => setPriority(constants.priority.PRIORITY_LOW),
};
const program = buildProgram(env);
for (const { register } of [serveCommand, importCommand]) register(program, env);
// Of `mapwright … | head`: what is left to write is for nobody. Other errors of a stream are none of ours to hide.
let isClosed = false;
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error) => {
    if (!isClosedPipe(error)) throw error;
    isClosed = true;
    process.exitCode = closedStatus;
  });
const status = await runProgram(program, env, process.argv.slice(2));
process.exitCode = isClosed ? closedStatus : status;
