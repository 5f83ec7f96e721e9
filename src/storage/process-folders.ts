import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";

/** Folders that belong to one process each, below a parent that processes, also of several machines, share. */

/** Machines may share the parent, whose processes cannot be seen from here. */
const prefix = (): string => `${hostname()}-`;

/** The path of a new folder of this process, which is not made. */
export async function ownFolder(parent: string): Promise<string> {
  const { pid } = process;
  const name = `${prefix()}${pid}-${await startOf(pid)}-${randomBytes(6).toString("hex")}`;
  return resolve(parent, name);
}

export interface ProcessFolders {
  /** Of processes of this machine that are gone. */
  readonly left: readonly string[];
  /** Of those that run, this one among them. */
  readonly used: readonly string[];
  /** Of machines with other names, as this one may have had: containers get a new one at each start. */
  readonly others: readonly string[];
}

/** The folders of processes. */
export async function processFolders(parent: string): Promise<ProcessFolders> {
  const left: string[] = [];
  const used: string[] = [];
  const others: string[] = [];
  for (const name of await readdir(parent).catch(() => [])) {
    const [, host, pid, start] = /^(.*-)(\d+)-(\d+)-[0-9a-f]{12}$/.exec(name) ?? [];
    if (pid === undefined) continue;
    if (host !== prefix()) {
      others.push(join(parent, name));
      continue;
    }
    // In a container each process may have the number of the one before.
    const runs = (await startOf(Number(pid))) === start;
    (runs ? used : left).push(join(parent, name));
  }
  return { left, used, others };
}

/** When a process was started, in ticks since the machine was; "0" = it does not run. */
const startOf = (pid: number): Promise<string> =>
  readFile(`/proc/${pid}/stat`, "latin1").then(
    // The second field, the name, may hold anything.
    (text) => text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "0",
    () => "0",
  );
