import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { TileFileRequest, TileFileResponse } from "../../../src/hosts/export-messages.js";
import { writePmtiles } from "./pmtiles.js";

/** Room on the disk that exports leave to others. */
const reservedBytes = 64 * 1024 ** 2;

/** Makes one file of drawn tiles. After a failure the folder may hold a part of it. */
export async function writeTiles(request: TileFileRequest): Promise<TileFileResponse> {
  let paths: string[];
  try {
    paths = await writersOf[request.format](request);
  } catch (error) {
    // SQLite reports a full disk and the limit of a file's size in several ways.
    const refusal = refusalOf(request, largestFile(request.folder));
    if (refusal) return refusal;
    throw error;
  }
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0);
  return refusalOf(request, bytes) ?? { ok: true, paths, bytes };
}

const writersOf = {
  pmtiles: writePmtiles,
  // SQLite is loaded by those exports only that need it.
  mbtiles: async (request: TileFileRequest) => (await import("./mbtiles.js")).writeMbtiles(request),
};

function refusalOf({ folder, maxBytes }: TileFileRequest, bytes: number): TileFileResponse | undefined {
  if (bytes > maxBytes) {
    const error = `The file would be larger than ${maxBytes} bytes. Choose fewer tiles.`;
    return { ok: false, reason: "too_large", error };
  }
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < reservedBytes
    ? { ok: false, reason: "no_room", error: "There is no room for exported files now." }
    : undefined;
}

const largestFile = (folder: string): number =>
  Math.max(...readdirSync(folder).map((name) => statSync(join(folder, name)).size));
