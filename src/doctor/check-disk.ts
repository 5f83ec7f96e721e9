import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, resolve } from "node:path";
import { bad, type Check, good } from "./check.js";

/** The check of `mapwright doctor` that looks at the room on disks. */

const gigabyte = 1e9;
/** An import of a large file takes as much. */
const fewBytes = 5 * gigabyte;
/** PostgreSQL stops when it has none. */
const tooFewBytes = gigabyte;
/** Of all that an account may use. */
const fewParts = 0.05;

/** Room for the data folder, and for what programs write for a moment. One line for each disk. */
export async function checkDisk(dataDir: string): Promise<Check[]> {
  const data = resolve(dataDir);
  const [ofData, ofTemporary] = await Promise.all([
    roomOf(existsSync(data) ? data : dirname(data)),
    roomOf(tmpdir()),
  ]);
  // The check of the data folder says why there is none.
  if (!ofData) return [];
  const checks = [checkRoom("disk", ofData)];
  const isOther = ofTemporary && (ofTemporary.all !== ofData.all || ofTemporary.free !== ofData.free);
  return isOther ? [...checks, checkRoom("disk of temporary files", ofTemporary)] : checks;
}

interface Room {
  readonly path: string;
  readonly free: number;
  readonly all: number;
}

async function roomOf(path: string): Promise<Room | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(path);
    return { path, free: bavail * bsize, all: blocks * bsize };
  } catch {
    return undefined;
  }
}

export function checkRoom(name: string, { path, free, all }: Room): Check {
  const found = `${(free / gigabyte).toFixed(1)} of ${(all / gigabyte).toFixed(1)} GB free at ${path}`;
  if (free < tooFewBytes)
    return bad(name, found, "make room, or put the folder on a larger disk: imports and edits will fail");
  if (free >= fewBytes && free >= fewParts * all) return good(name, found);
  return {
    ...good(name, found),
    advice: "make room before large imports: the page on disk use says what takes it",
  };
}
