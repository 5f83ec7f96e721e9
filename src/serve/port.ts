import { lookup } from "node:dns/promises";
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { listenersOn, ownersOf } from "./listeners.js";

/**
 * The port that the nodes of this server listen on, kept from others.
 *
 * Nodes share it by SO_REUSEPORT, and so could any other process of this user: Linux would deal the connections out
 * among all of them without a word. So nobody may listen when a server starts, and a server holds a name for its
 * address while it runs, by which another that starts in the same moment, or while all nodes are being replaced,
 * learns that it comes second. The name is a socket of Linux' abstract namespace: like a port it belongs to the
 * machine's network, and the kernel takes it back however its process ends.
 */

export interface TakenPort {
  /** The host as an address: what it resolves to may change. */
  readonly address: string;
  readonly port: number;
  release(): Promise<void>;
}

/** Nodes whose parent was killed close the port when they hear of it, which takes this long at most. */
const patienceMs = 1_000;

/**
 * Takes a port for the nodes of this server; port 0 takes a free one.
 * @throws Error when the address cannot be had; the message says why and what to do
 */
export async function takePort(host: string, port: number, signal: AbortSignal): Promise<TakenPort> {
  const { address } = await lookup(host).catch(() => {
    throw new Error(`There is no address of the host ${host}; choose another (--host, MAPWRIGHT_HOST).`);
  });
  const until = Date.now() + patienceMs;
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

/** A port that is free at this moment. */
async function freePort(address: string): Promise<number> {
  const server = await listening({ host: address, port: 0 });
  const { port } = server.address() as AddressInfo;
  await closed(server);
  return port;
}

/** A server that shares its address with nobody, and has nothing to say. */
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

/** What the person who starts the server is told. */
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
  return new Error(`Port ${port} of ${host} cannot be had: ${(error as Error).message}.`);
}
