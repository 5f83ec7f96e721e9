import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Real caches in front of a server, with the configuration files that the project offers. */

export interface FrontCache {
  /** Without a slash at its end. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Debian keeps such programs where not every account looks. */
export const withSystemPrograms = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${process.env.PATH ?? ""}:/usr/local/sbin:/usr/sbin:/sbin`,
});

/** A port that nobody uses now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/**
 * Varnish on a port, in front of the server at `backend`.
 * @param changes of its configuration: what is there once, and what is to be there
 */
export async function startVarnish(
  port: number,
  backend: number,
  changes: readonly (readonly [what: string, by: string])[] = [],
): Promise<FrontCache> {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-varnish-"));
  const vcl = join(folder, "mapwright.vcl");
  let text = readFileSync("config/varnish/mapwright.vcl", "utf8");
  for (const [what, by] of [['.port = "8080"', `.port = "${backend}"`] as const, ...changes])
    text = replaced(text, what, by);
  writeFileSync(vcl, text);
  const child = spawn(
    "varnishd",
    [
      "-F",
      "-j",
      "none",
      "-n",
      join(folder, "run"),
      "-a",
      `127.0.0.1:${port}`,
      "-f",
      vcl,
      "-s",
      "malloc,256m",
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: withSystemPrograms() },
  );
  return running(child, port, folder);
}

/** @throws Error unless the text has it once */
export function replaced(text: string, what: string, by: string): string {
  const parts = text.split(what);
  if (parts.length !== 2) throw new Error(`${what} is there ${parts.length - 1} times`);
  return parts.join(by);
}

/** A program that listens on a port, and its folder, which is removed at its end. @throws Error when it does not start */
export async function running(child: ChildProcess, port: number, folder: string): Promise<FrontCache> {
  let said = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
    });
  let isEnded = false;
  const ended = new Promise<void>((resolve) => {
    const end = (error?: Error) => {
      isEnded = true;
      said += error?.message ?? "";
      resolve();
    };
    child.once("exit", () => end());
    child.once("error", end);
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await ended;
    clearTimeout(late);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  for (const until = Date.now() + 60_000; ; ) {
    if (isEnded || Date.now() > until) {
      await stop();
      throw new Error(`${child.spawnfile} did not start: ${said}`);
    }
    const answers = await fetch(`${url}/health/live`).then(
      (answer) => answer.text().then(() => true),
      () => false,
    );
    if (answers) return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
