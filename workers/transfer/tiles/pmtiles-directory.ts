import { gzipSync } from "node:zlib";

/** Directories of PMTiles 3: https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md */

/** Entries column by column, in ascending order of ids. */
export class Entries {
  readonly ids: number[] = [];
  /** How many ids in a row have this content; 0 = a leaf directory, whose first id it is. */
  readonly runs: number[] = [];
  readonly lengths: number[] = [];
  /** From the beginning of the section of contents, or of leaf directories. */
  readonly offsets: number[] = [];

  get count(): number {
    return this.ids.length;
  }

  /** Adds a tile, to the last entry if it continues its run. */
  add(id: number, offset: number, length: number): void {
    const last = this.count - 1;
    if (last >= 0 && this.offsets[last] === offset && this.ids[last]! + this.runs[last]! === id)
      this.runs[last]!++;
    else this.push(id, 1, length, offset);
  }

  push(id: number, run: number, length: number, offset: number): void {
    this.ids.push(id);
    this.runs.push(run);
    this.lengths.push(length);
    this.offsets.push(offset);
  }
}

export interface Directories {
  readonly root: Buffer;
  /** One after the other; empty when the root has all entries. */
  readonly leaves: Buffer;
}

/** The header and the root directory together must have less than 16,384 bytes. */
export const maxRootBytes = 16_384 - 127 - 1;
/** More entries than that are not tried in one directory: each takes a byte or more. */
const maxRootEntries = 16_384;
const leafEntries = 4_096;

/** The directories of the entries, of which there is at least one. */
export function directoriesOf(entries: Entries): Directories {
  if (entries.count <= maxRootEntries) {
    const root = encodeDirectory(entries, 0, entries.count);
    if (root.length <= maxRootBytes) return { root, leaves: Buffer.alloc(0) };
  }
  // Leaves grow until the root that lists them is small enough.
  for (let size = Math.max(leafEntries, Math.ceil(entries.count / 3_500)); ; size = Math.ceil(size * 1.2)) {
    const directories = withLeaves(entries, size);
    if (directories.root.length <= maxRootBytes) return directories;
  }
}

function withLeaves(entries: Entries, size: number): Directories {
  const list = new Entries();
  const leaves: Buffer[] = [];
  let offset = 0;
  for (let start = 0; start < entries.count; start += size) {
    const leaf = encodeDirectory(entries, start, Math.min(start + size, entries.count));
    list.push(entries.ids[start]!, 0, leaf.length, offset);
    leaves.push(leaf);
    offset += leaf.length;
  }
  return { root: encodeDirectory(list, 0, list.count), leaves: Buffer.concat(leaves) };
}

/** A number below 2^53 has at most 8 bytes of 7 bits. */
const maxVarintBytes = 8;

/** The entries from `start` to before `end`, compressed. */
function encodeDirectory({ ids, runs, lengths, offsets }: Entries, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(maxVarintBytes * (1 + 4 * (end - start)));
  let at = 0;
  const put = (number: number) => {
    let rest = number;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) + 128;
    bytes[at++] = rest;
  };
  put(end - start);
  for (let index = start; index < end; index++)
    put(index === start ? ids[index]! : ids[index]! - ids[index - 1]!);
  for (let index = start; index < end; index++) put(runs[index]!);
  for (let index = start; index < end; index++) put(lengths[index]!);
  for (let index = start; index < end; index++) {
    const follows = index > start && offsets[index] === offsets[index - 1]! + lengths[index - 1]!;
    put(follows ? 0 : offsets[index]! + 1);
  }
  return gzipSync(bytes.subarray(0, at));
}
