import { lookup } from "node:dns/promises";
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { listenersOn, ownersOf } from "./listeners.js";

/**
 * Reserves the port that the nodes of this server listen on.
 *
 * Nodes share it by SO_REUSEPORT. Any other process of this user could share it too, and Linux would distribute the
 * connections among all of them without an error. So a server starts only when nobody listens on the port, and while it
 * runs it holds a Unix socket that is named after its address. A second server fails to open that socket, even if it
 * starts at the same time or while all nodes are being replaced. The name is in Linux's abstract namespace: like a port
 * it belongs to the machine's network, and the kernel releases it however the process ends.
 */

export interface TakenPort {
  /** The resolved address of the host; a later lookup might give another one. */
  readonly address: string;
  readonly port: number;
  release(): Promise<void>;
}

/** Nodes whose parent was killed close the port when they notice, which takes this long at most. */
const orphansMs = 1_000;

/**
 * Takes a port for the nodes of this server; port 0 takes a free one.
 * @throws Error when the address cannot be used; the message says why and what to do
 */
export async function takePort(host: string, port: number, signal: AbortSignal): Promise<TakenPort> {
  const { address } = await lookup(host).catch(() => {
    throw new Error(`The host ${host} has no address; choose another (--host, MAPWRIGHT_HOST).`);
  });
  const until = Date.now() + orphansMs;
  for (;;) {
    try {
      return await take(address, port || (await freePort(address)));
    } catch (error) {
      if (!isTaken(error) || Date.now() >= until) throw await refusal(error, host, port);
    }
    await sleep(50, undefined, { signal });
  }
}

async function take(address: string, port: number): Promise<TakenPort> {
  const name = await listening({ path: `\0mapwright ${address}:${port}` });
  try {
    await closed(await listening({ host: address, port }));
  } catch (error) {
    await closed(name);
    throw error;
  }
  return { address, port, release: () => closed(name) };
}

/** A port that is free now. */
async function freePort(address: string): Promise<number> {
  const server = await listening({ host: address, port: 0 });
  const { port } = server.address() as AddressInfo;
  await closed(server);
  return port;
}

/** A server with exclusive use of its address; it closes every connection. */
function listening(options: ListenOptions): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ ...options, exclusive: true }, () => resolve(server));
  });
}

const closed = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
const isTaken = (error: unknown): boolean => codeOf(error) === "EADDRINUSE";

/** The error for the user who starts the server. */
async function refusal(error: unknown, host: string, port: number): Promise<Error> {
  if (isTaken(error)) {
    const owners = await ownersOf((await listenersOn(port)).map(({ inode }) => inode));
    const who = owners.length > 0 ? owners.join(" and ") : "another process";
    return new Error(
      `Port ${port} of ${host} is in use by ${who}: end it, or choose another port (--port, MAPWRIGHT_PORT).`,
    );
  }
  if (codeOf(error) === "EADDRNOTAVAIL")
    return new Error(`${host} is no address of this machine; choose another (--host, MAPWRIGHT_HOST).`);
  if (codeOf(error) === "EACCES") {
    return new Error(
      `This user may not listen on port ${port}; choose one from 1024 on (--port, MAPWRIGHT_PORT).`,
    );
  }
  return new Error(`Port ${port} of ${host} cannot be used: ${(error as Error).message}.`);
}
