import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { takePort } from "../../src/serve/port.js";
import { type Server, untilReady } from "../server.js";
import type { World } from "../world.js";

/** Servers of built checkouts, each by its own command. */

/** The checkout that this bench belongs to. */
export const ownFolder = fileURLToPath(new URL("../../..", import.meta.url));

const endedWithinMs = 15_000;

const programOf = (folder: string): string => join(resolve(folder), "dist/src/main.js");

/** @throws Error when the checkout has not been built, or has another schema of the database */
export function requireBuild(folder: string): void {
  const program = programOf(folder);
  if (!existsSync(program)) throw new Error(`There is no ${program}: build that checkout first.`);
  if (migrations(folder) !== migrations(ownFolder)) {
    throw new Error(`${folder} has other migrations than this checkout; the two cannot share a database.`);
  }
}

/**
 * The server of a checkout, on the database and the Redis of the bench.
 * @param folder of the checkout
 * @param redisPrefix that no other server has
 * @throws Error when it does not become ready
 */
export async function startBuild(folder: string, world: World, redisPrefix: string): Promise<Server> {
  const program = programOf(folder);
  const { port, release } = await takePort("127.0.0.1", 0, new AbortController().signal);
  await release();
  const { databaseUrl, redisUrl, dataDir } = world.config();
  const foreign = /^(MAPWRIGHT_|PG[A-Z])/;
  const server = spawn(
    process.execPath,
    [program, "serve", "--host", "127.0.0.1", "--port", String(port), "--nodes", "1", "--no-demo"],
    {
      env: {
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name))),
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        MAPWRIGHT_REDIS_PREFIX: redisPrefix,
        MAPWRIGHT_DATA_DIR: dataDir,
        MAPWRIGHT_LOG_LEVEL: "warn",
      },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const end = () => void server.kill();
  process.once("exit", end);
  let told = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => {
    told = (told + text).slice(-10_000);
  });
  const gone = once(server, "exit");
  const stop = async () => {
    end();
    const late = setTimeout(() => server.kill("SIGKILL"), endedWithinMs);
    await gone;
    clearTimeout(late);
    process.removeListener("exit", end);
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await Promise.race([
      untilReady(url),
      gone.then(() => {
        throw new Error(`${program} ended:\n${told}`);
      }),
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, pid: server.pid!, stop };
}

const migrations = (folder: string): string =>
  readdirSync(join(folder, "dist/src/storage/migrations")).sort().join();
