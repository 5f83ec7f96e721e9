import { chownSync, readFileSync } from "node:fs";

/** The system user that a private service runs as, and how it reaches its folder. */

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The first of `names` that this machine has, when we are root; undefined for everybody else, whose services run
 * as themselves. PostgreSQL refuses to run as root, and Redis needs no rights of root.
 * @throws Error when we are root and none of the users exists
 */
export function serviceAccount(names: readonly string[]): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of names) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    `As root a private service needs one of the system users ${names.join(", ")}; none exists.`,
  );
}

/** Makes the account the owner of a file or folder. */
export function handOver(path: string, account: Account | undefined): void {
  if (account) chownSync(path, account.uid, account.gid);
}

/**
 * The path by which a service reaches its folder. As root the user of the service may not be able to walk the path
 * to the checkout (`/root` is closed to others). So the service inherits the folder as open file 3. This needs no
 * mount, no copy elsewhere and no rights on the folders above.
 */
export const inheritedFolder = "/proc/self/fd/3";

/** Options with which a program of a service is spawned. Nothing of our environment, such as PGOPTIONS, reaches it. */
export function spawnOptions(account: Account | undefined) {
  return {
    env: {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      LC_ALL: "C.UTF-8",
      TZ: "UTC",
    },
    cwd: "/",
    ...account,
  };
}
