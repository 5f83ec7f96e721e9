import { existsSync, statfsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Memory that this process may use, in bytes: the machine's, or the container's where that is less. */
export function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** A share of the memory between two limits, in whole MiB. */
export function memoryShareMib(share: number, least: number, most: number): number {
  return Math.round(Math.min(most, Math.max(least, (memoryBytes() * share) / 1024 ** 2)));
}

/** Whether /dev/shm can hold what parallel queries share; containers may have none, or a very small one. */
export function hasSharedMemoryFolder(): boolean {
  const mode = statSync("/dev/shm", { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o002) === 0) return false;
  const { bsize, blocks } = statfsSync("/dev/shm");
  return bsize * blocks >= 256 * 1024 ** 2;
}

/** A free TCP port on loopback: `preferred` (0: none) if nothing listens there, else one that the system picks. */
export async function freePort(preferred: number): Promise<number> {
  const probe = (port: number) =>
    new Promise<number | undefined>((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(undefined));
      server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
        const address = server.address();
        server.close(() => resolve(typeof address === "object" && address ? address.port : undefined));
      });
    });
  const port = (preferred > 0 ? await probe(preferred) : undefined) ?? (await probe(0));
  if (port === undefined) throw new Error("No free port on 127.0.0.1.");
  return port;
}

/** The project's `config` folder, wherever the built files lie below it. */
export function configFolder(): string {
  for (
    let folder = dirname(fileURLToPath(import.meta.url));
    folder !== dirname(folder);
    folder = dirname(folder)
  ) {
    const candidate = join(folder, "config");
    if (existsSync(join(candidate, "postgresql", "postgresql.conf"))) return candidate;
  }
  throw new Error("The folder config/ with the settings of PostgreSQL and Redis is missing.");
}
