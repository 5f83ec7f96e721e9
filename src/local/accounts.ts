import { readFileSync } from "node:fs";

/** The unprivileged system user that a private service runs as. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The first of `names` that this machine has, when we are root; undefined for everybody else, whose services run
 * as themselves. PostgreSQL refuses to run as root, and a database or cache has no business with root's rights.
 * @throws Error when we are root and none of the users exists
 */
export function serviceAccount(names: readonly string[]): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const name of names) {
    const user = users.find((fields) => fields[0] === name);
    if (user) return { name, uid: Number(user[2]), gid: Number(user[3]) };
  }
  throw new Error(
    `As root a private service needs one of the system users ${names.join(", ")}; none exists.`,
  );
}
