#!/usr/bin/env node
import { constants, setPriority } from "node:os";
import * as importCommand from "./commands/import.js";
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
process.exitCode = await runProgram(program, env, process.argv.slice(2));
