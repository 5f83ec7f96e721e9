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

/** `config/varnish/nodes.vcl` for several servers, each asked every half second whether it is well. */
function varnishNodes(backends: readonly number[]): string {
  const text = readFileSync("config/varnish/nodes.vcl", "utf8").replaceAll(
    ".interval = 2s",
    ".interval = 0.5s",
  );
  // Each of what names the first machine, for each of them.
  return text.replaceAll(/^backend node1\w* \{[^}]*^\}\n|^.*_backend\(node1\w*\);\n/gm, (part) =>
    backends
      .map((backend, at) => part.replace("node1", `node${at + 1}`).replace("8080", String(backend)))
      .join(""),
  );
}

/**
 * Varnish on a port, in front of servers.
 * @param backend the port of one, or of several
 * @param changes of its two files: what is there once, and what is to be there
 */
export async function startVarnish(
  port: number,
  backend: number | readonly number[],
  changes: readonly (readonly [what: string, by: string])[] = [],
): Promise<FrontCache> {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-varnish-"));
  const vcl = join(folder, "mapwright.vcl");
  const files: [string, string][] = [
    [vcl, readFileSync("config/varnish/mapwright.vcl", "utf8")],
    [join(folder, "nodes.vcl"), varnishNodes([backend].flat())],
  ];
  for (const [what, by] of changes) {
    const file = files.find(([, text]) => text.includes(what)) ?? files[0]!;
    file[1] = replaced(file[1], what, by);
  }
  for (const [path, text] of files) writeFileSync(path, text);
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
    // A redirection is an answer, too.
    const answers = await fetch(`${url}/health/live`, { redirect: "manual" }).then(
      (answer) => answer.text().then(() => true),
      () => false,
    );
    if (answers) return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
