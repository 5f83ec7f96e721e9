import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Checkouts and servers as users have them, and commands as they type them. */

export const checkout = join(dirname(fileURLToPath(import.meta.url)), "../../..");
/** The program of this checkout. */
export const program = join(checkout, "dist/src/main.js");

/** What a shell has that nobody has set anything in. */
export const bareEnvironment = (home: string): Readonly<Record<string, string>> => ({
  PATH: process.env.PATH ?? "",
  HOME: home,
  LANG: "C.UTF-8",
});

/**
 * A fresh clone of this checkout, in which the preparation of `npm start` finds the packages and the build that are here: to
 * install and build again would take minutes, and `npm test` in a fresh clone, as CI runs it, does both by the same preparation.
 * It writes nothing to this one.
 */
export async function makeClone(): Promise<string> {
  const clone = join(await mkdtemp(join(tmpdir(), "mapwright-started-")), "mapwright");
  const own = new Set(["config", "dist", "node_modules", "data", ".git", ".tap"]);
  const copied = (path: string) =>
    cp(join(checkout, path), join(clone, path), { recursive: true, verbatimSymlinks: true });
  await mkdir(join(clone, "node_modules/.bin"), { recursive: true });
  await Promise.all(["config", "dist/src", "dist/workers"].map(copied));
  const linked = [
    ...(await readdir(checkout)).filter((name) => !own.has(name)),
    ...(await readdir(join(checkout, "node_modules")))
      .filter((name) => !/^\.(bin|cache|mapwright-stamp)$/.test(name))
      .map((name) => `node_modules/${name}`),
  ];
  await Promise.all(linked.map((path) => symlink(join(checkout, path), join(clone, path))));
  const mark = `import { markBuilt } from "./config/setup/build.js";
    import { markInstalled } from "./config/setup/modules.js";
    markBuilt();
    markInstalled();`;
  const marked = await run([process.execPath, "--input-type=module", "-e", mark], { cwd: clone });
  if (marked.status !== 0) throw new Error(marked.stderr);
  return clone;
}

interface Where {
  readonly cwd: string;
  /** Default: ours. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Finished {
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs a program to its end. @param input comes on standard input, which is no terminal */
export async function run(
  [command = "", ...args]: readonly string[],
  { cwd, env, input = "" }: Where & { readonly input?: string | Buffer },
): Promise<Finished> {
  const child = spawn(command, args, { cwd, ...(env && { env }), timeout: 300_000 });
  const stdout: Buffer[] = [];
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => undefined).end(input);
  const status = await new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  return { status, stdout: Buffer.concat(stdout), stderr };
}

export interface RunningServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** What it has said on its standard output and error. */
  told(): string;
  /** As Ctrl-C does. @returns the exit status */
  stop(): Promise<number | null>;
}

const stopMs = 60_000;

/** Starts a server and waits until it says that it is ready. */
export async function start(
  command: readonly string[],
  { cwd, env, withinMs = 180_000 }: Where & { readonly withinMs?: number },
): Promise<RunningServer> {
  const child = spawn(command[0]!, command.slice(1), {
    cwd,
    ...(env && { env }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let told = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      told += text;
    });
  // What it says of itself ends with how to stop it.
  const address = () => /is ready: (\S+)\/\n[\s\S]*\nCtrl-C stops it\.\n/.exec(told)?.[1];
  for (const until = Date.now() + withinMs; !address() && child.exitCode === null && Date.now() < until; )
    await delay(20);
  const url = address();
  if (url === undefined) {
    await end(child);
    throw new Error(`It did not start:\n${told}`);
  }
  return { url, told: () => told, stop: () => end(child) };
}

async function end(child: ChildProcess): Promise<number | null> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
    await exited;
    clearTimeout(timer);
  }
  return child.exitCode;
}
