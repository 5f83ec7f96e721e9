import { readdir, readFile, readlink } from "node:fs/promises";

/** Finds the processes that listen on a port of this machine, by `/proc`. */

export interface Listener {
  readonly inode: string;
  /** The address as the kernel writes it: 8 hexadecimal digits for IPv4, 32 for IPv6. */
  readonly address: string;
}

/** The state of a socket that listens. */
const listens = "0A";

/** Every socket that listens on the port, on any address. */
export async function listenersOn(port: number): Promise<Listener[]> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  return tables.flatMap((table) =>
    table.split("\n").flatMap((line) => {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [address = "", hexPort = ""] = local.split(":");
      return state === listens && Number.parseInt(hexPort, 16) === port ? [{ inode, address }] : [];
    }),
  );
}

/** Inodes of the sockets that a process holds; none when it has ended or belongs to another user. */
async function socketsOf(pid: number | string): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

/** The processes that hold one of these sockets, as `process 123 (nginx)`, as far as this user may see. */
export async function ownersOf(inodes: readonly string[]): Promise<string[]> {
  const owners: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const sockets = await socketsOf(pid);
    if (!sockets.some((inode) => inodes.includes(inode))) continue;
    const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
    owners.push(`process ${pid} (${name.trim()})`);
  }
  return owners;
}

const isAny = (address: string): boolean => /^0+$/.test(address);

/**
 * Whether a listener gets connections of ours: it has our address, or we listen on all addresses, which include its own.
 * (All addresses of IPv6 include those of IPv4.)
 */
const takesFrom = (other: Listener, own: Listener): boolean =>
  other.address === own.address || (isAny(own.address) && other.address.length <= own.address.length);

/** Finds processes that share the port of this server's nodes without being one of them. */
export class PortWatch {
  private own = new Set<string>();
  private reported = new Set<string>();

  /** @param pids the nodes that run now */
  constructor(
    private readonly port: number,
    private readonly pids: () => readonly number[],
  ) {}

  /** Sockets of other processes that get connections meant for the nodes; each is reported once. */
  async foreignListeners(): Promise<Listener[]> {
    const listeners = await listenersOn(this.port);
    const inodes = new Set(listeners.map(({ inode }) => inode));
    this.own = new Set([...this.own].filter((inode) => inodes.has(inode)));
    this.reported = new Set([...this.reported].filter((inode) => inodes.has(inode)));
    const unknown = listeners.filter(({ inode }) => !this.own.has(inode) && !this.reported.has(inode));
    if (unknown.length === 0) return [];
    const sockets = new Set((await Promise.all(this.pids().map(socketsOf))).flat());
    for (const { inode } of unknown) if (sockets.has(inode)) this.own.add(inode);
    // A socket that is gone by now belonged to a node that has ended.
    const still = new Set((await listenersOn(this.port)).map(({ inode }) => inode));
    const nodes = listeners.filter(({ inode }) => this.own.has(inode));
    const found = unknown.filter(
      (other) =>
        still.has(other.inode) && !this.own.has(other.inode) && nodes.some((own) => takesFrom(other, own)),
    );
    for (const { inode } of found) this.reported.add(inode);
    return found;
  }
}
