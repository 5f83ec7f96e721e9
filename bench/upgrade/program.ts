import { spawn, spawnSync } from "node:child_process";
import { freePort } from "../caches.js";
import { untilReady } from "../server.js";

/** A version of the program in a folder of its own, and its nodes as processes. */

export interface ProgramNode {
  readonly url: string;
  readonly port: number;
  /** As an operator stops it: by SIGTERM. */
  stop(): Promise<void>;
}

export interface Program {
  /** Waits until the node is ready. @throws Error when it ends before */
  start(port?: number): Promise<ProgramNode>;
  /** Runs a command. @throws Error with what it says when it fails */
  run(...words: readonly string[]): string;
}

/** @param folder that has `dist` and `node_modules` */
export function programIn(folder: string, settings: Readonly<Record<string, string>>): Program {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
  const main = "dist/src/main.js";
  return {
    run: (...words) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
        cwd: folder,
        env,
        encoding: "utf8",
      });
      if (status !== 0) throw new Error(`mapwright ${words.join(" ")}: ${stderr}`);
      return stdout + stderr;
    },
    start: async (port) => {
      const at = port ?? (await freePort());
      const child = spawn(
        process.execPath,
        [main, "serve", "--host", "127.0.0.1", "--port", String(at), "--no-demo"],
        { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] },
      );
      let said = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => {
          said = (said + text).slice(-5_000);
        });
      const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
      const url = `http://127.0.0.1:${at}`;
      await Promise.race([
        untilReady(url),
        ended.then(() => {
          throw new Error(`the node in ${folder} has ended: ${said}`);
        }),
      ]);
      const stop = async () => {
        child.kill("SIGTERM");
        const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
        await ended;
        clearTimeout(late);
      };
      return { url, port: at, stop };
    },
  };
}
