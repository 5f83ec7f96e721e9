import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from "node:fs";

/** Long steps: a line that says what is done and for how long, everything else in data/setup.log. */

export const logPath = "data/setup.log";

/** The set-up cannot go on; the message is for the person at the terminal. */
export class SetupError extends Error {}

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();

function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Not the leader of a group (see `ownGroup`), or gone already.
    child.kill(signal);
  }
}

let ending = false;

/** Ends the step that runs, with everything that it started: after 2 s it is killed, since npm reacts slowly. */
export async function endRunning() {
  ending = true;
  const children = [...running];
  for (const child of children) signalGroup(child, "SIGTERM");
  for (const deadline = Date.now() + 2_000; running.size > 0 && Date.now() < deadline; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // Others of a group may outlive its leader. A step without a group of its own (apt) is not killed.
  for (const child of children) {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // All gone.
    }
  }
}

function openLog() {
  mkdirSync("data", { recursive: true, mode: 0o700 });
  const long = (statSync(logPath, { throwIfNoEntry: false })?.size ?? 0) > 8 * 1024 ** 2;
  return openSync(logPath, long ? "w" : "a", 0o600);
}

/** Shows `label` with the seconds so far: one changing line on a terminal, else a line now and then. */
function ticker(label) {
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const terminal = process.stdout.isTTY;
  const say = (text) => process.stdout.write(terminal ? `\r\x1b[K${text}` : `${text}\n`);
  say(`${label} …`);
  const timer = setInterval(() => say(`${label} … ${seconds()} s`), terminal ? 1_000 : 20_000);
  return (outcome) => {
    clearInterval(timer);
    say(`${label}: ${outcome} (${seconds()} s)`);
    if (terminal) process.stdout.write("\n");
  };
}

/**
 * Runs a command as a step.
 * @param {string} label what is done, for the terminal
 * @param {string[]} command
 * @param {{ env?: Record<string, string>, ownGroup?: boolean }} [options] `ownGroup` false keeps the command in
 *   the terminal's session, which sudo needs to know its user again
 * @throws {SetupError} with the end of the command's output
 */
export async function step(label, command, { env = {}, ownGroup = true } = {}) {
  const log = openLog();
  writeSync(log, `\n== ${new Date().toISOString()} ${label}: ${command.join(" ")}\n`);
  const from = statSync(logPath).size;
  const finish = ticker(label);
  const child = spawn(command[0], command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ["ignore", log, log],
    detached: ownGroup,
  });
  running.add(child);
  const status = await new Promise((resolve) => {
    child.once("error", (error) => {
      writeSync(log, `${error.message}\n`);
      resolve(-1);
    });
    child.once("exit", (code, signal) => resolve(code ?? signal));
  });
  running.delete(child);
  closeSync(log);
  finish(ending ? "stopped" : status === 0 ? "done" : "failed");
  if (ending) throw new SetupError("Stopped.");
  if (status === 0) return;
  const output = readFileSync(logPath).subarray(from).toString("utf8").trimEnd().split("\n").slice(-30);
  throw new SetupError(
    `${output.map((line) => `    ${line}`).join("\n")}\n${label} failed; ${logPath} has all of its output.`,
  );
}
