import { dirname, join } from "node:path";

/** Test files that run in one process by `group.ts`, one after the other: which do, and what each of them has come to. */

/** More would take long where a core is free and no other group is left. */
const mostInGroup = 8;

/** Neighbours of a folder that may share a process are a group; any other file is one by itself. */
export function groupsOf(
  files: readonly string[],
  mayShare: (file: string) => boolean = () => false,
): (readonly string[])[] {
  const groups: string[][] = [];
  for (const file of files) {
    const last = groups.at(-1);
    const joins =
      last !== undefined &&
      last.length < mostInGroup &&
      [last[0]!, file].every(mayShare) &&
      dirname(last[0]!) === dirname(file);
    if (joins) last.push(file);
    else groups.push([file]);
  }
  return groups;
}

export interface Part {
  readonly path: string;
  /** What the file would have written by itself. */
  readonly tapText: string;
  /** 0 when it has passed. */
  readonly status: number;
  /** Seconds, also of the processors. */
  readonly wall: number;
  readonly cpu: number;
}

/** Of the files that were begun. One in which the process ended has failed. */
export function partsOf(
  files: readonly string[],
  root: string,
  { tapText, status }: { readonly tapText: string; readonly status: number },
): Part[] {
  const parts: Part[] = [];
  let lines: string[] | undefined;
  let result = 1;
  const close = (wall: number, cpu: number) => {
    const path = files[parts.length];
    if (lines && path !== undefined)
      parts.push({ path, tapText: lines.join("\n"), status: result, wall, cpu });
    lines = undefined;
    result = 1;
  };
  for (const line of tapText.split("\n")) {
    const path = join(root, files[parts.length] ?? "");
    if (line === `# Subtest: ${path}`) lines = [];
    else if (line.startsWith("    ")) lines?.push(line.slice(4));
    else if (/^ok \d/.test(line)) result = 0;
    else if (line.startsWith("# took ")) {
      const [, , wall, cpu] = line.split(" ").map(Number);
      close(wall ?? 0, cpu ?? 0);
    }
  }
  close(0, 0);
  // What failed when the files were done is nobody's: the last one's, as it was the nearest.
  const last = parts.at(-1);
  if (last && status !== 0 && parts.every((part) => part.status === 0))
    parts[parts.length - 1] = { ...last, status };
  return parts;
}
