import { readdirSync, readFileSync } from "node:fs";

/** Processes of the nodes, as Linux tells of them. */

export interface Seen {
  readonly pid: number;
  /** `node`, or the kind of its host. */
  readonly role: string;
  readonly residentBytes: number;
  readonly descriptors: number;
}

const pageBytes = 4096;

/** A node's process and its hosts. Empty when it ended. */
export function processesOf(node: number): Seen[] {
  const hosts = childrenOf(node).flatMap(({ pid, commandLine }) => {
    const role = /host\.js\0(\w+)/.exec(commandLine)?.[1];
    return role === undefined ? [] : [{ pid, role }];
  });
  return [{ pid: node, role: "node" }, ...hosts].flatMap(({ pid, role }) => {
    try {
      const pages = Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]);
      const descriptors = readdirSync(`/proc/${pid}/fd`).length;
      return [{ pid, role, residentBytes: pages * pageBytes, descriptors }];
    } catch {
      return []; // ended meanwhile
    }
  });
}

function childrenOf(parent: number): { readonly pid: number; readonly commandLine: string }[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      // The second field, the name, may itself hold spaces and brackets.
      const of = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      if (of !== parent) return [];
      return [{ pid: Number(name), commandLine: readFileSync(`/proc/${name}/cmdline`, "latin1") }];
    } catch {
      return [];
    }
  });
}
