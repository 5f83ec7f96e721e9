import { spawn } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { totalmem } from "node:os";
import type { Log } from "../log.js";
import { type Account, handOver, serviceAccount, spawnOptions } from "./account.js";
import type { Secrets } from "./data-files.js";
import { endLeftovers } from "./leftovers.js";
import { type SupervisedProcess, supervise } from "./process.js";

/** What the private PostgreSQL and the private Redis have in common: a folder, a log, a user, a port on loopback. */

/** What both are started with. */
export interface ServiceContext {
  /** Absolute path of the data folder of the checkout. */
  readonly dataDir: string;
  readonly secrets: Secrets;
  /** The passwords are new, so an existing database has others. */
  readonly freshSecrets: boolean;
  /** False: the data may be lost when the machine loses power (tests). */
  readonly durable: boolean;
  readonly log: Log;
  /** Called with a short phrase before something that takes long. */
  readonly progress: (text: string) => void;
}

/** What is particular to one of them. */
interface ServiceDefinition {
  readonly name: string;
  /** Its folder; its messages go to `<folder>.log`. */
  readonly folder: string;
  readonly program: string;
  /** System users that it may run as when we are root, the best first. */
  readonly users: readonly string[];
  readonly endSignal: NodeJS.Signals;
  /** 0: none. */
  readonly preferredPort: number;
  /** Makes what is missing in its folder. */
  readonly prepare?: (place: ServicePlace) => void;
  readonly command: (port: number) => { readonly args: readonly string[]; readonly input?: string };
  readonly answers: (port: number) => Promise<void>;
}

export interface ServicePlace {
  /** The open folder. */
  readonly folder: number;
  readonly account: Account | undefined;
}

export interface StartedService extends SupervisedProcess {
  readonly port: number;
}

/** Settings of both that do not depend on the machine. */
export const configFolder = new URL("../../../config/", import.meta.url);

/**
 * Starts a service and keeps it running until `stop`.
 * @throws Error when it does not start; the message has the end of its log
 */
export async function startService(definition: ServiceDefinition, log: Log): Promise<StartedService> {
  const { name, folder: path, program, endSignal } = definition;
  const account = serviceAccount(definition.users);
  mkdirSync(path, { recursive: true });
  handOver(path, account);
  chmodSync(path, 0o700);
  const folder = openSync(path, "r");
  const output = openLog(`${path}.log`);
  const close = () => [folder, output].forEach(closeSync);
  try {
    await endLeftovers(path, program, endSignal);
    definition.prepare?.({ folder, account });
    // Another program may take the port between our look and the start.
    for (let attempt = 1; attempt <= 3; attempt++) {
      const port = await freePort(attempt === 1 ? definition.preferredPort : 0);
      const { args, input } = definition.command(port);
      const launch = () => {
        // By the parent-death signal it ends even when we are killed. In a session of its own it does not get the
        // terminal's Ctrl-C: requests that still run need it.
        const child = spawn("setpriv", [`--pdeathsig=${endSignal}`, "--", program, ...args], {
          ...spawnOptions(account),
          detached: true,
          stdio: [input === undefined ? "ignore" : "pipe", output, output, folder],
        });
        child.stdin?.on("error", () => undefined);
        child.stdin?.end(input);
        return child;
      };
      const service = await supervise(
        { name, launch, endSignal, answers: () => definition.answers(port) },
        log,
      );
      if (service) return { port, pid: service.pid, stop: () => service.stop().finally(close) };
    }
    const end = readFileSync(`${path}.log`, "utf8").trimEnd().split("\n").slice(-12).join("\n");
    throw new Error(`The private ${name} does not start. The end of ${path}.log:\n${end}`);
  } catch (error) {
    close();
    throw error;
  }
}

/** Opens a log to append to; one of more than 16 MiB is renamed to `<path>.old` first. */
function openLog(path: string): number {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 16 * 1024 ** 2)
    renameSync(path, `${path}.old`);
  return openSync(path, "a", 0o600);
}

/** A free TCP port on loopback: `preferred` (0: none) if nothing listens there, else one that the system picks. */
async function freePort(preferred: number): Promise<number> {
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

/** A share of the machine's memory, or of the container's where that is less, between two limits; in whole MiB. */
export function memoryShareMib(share: number, least: number, most: number): number {
  const bytes = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
  return Math.round(Math.min(most, Math.max(least, (bytes * share) / 1024 ** 2)));
}
