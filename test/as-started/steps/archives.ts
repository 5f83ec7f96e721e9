import { readFile } from "node:fs/promises";
import sqlite from "node-sqlite3-wasm";
import { PMTiles } from "pmtiles";

/** Tiles of files that hold those of a map. Rows are counted from the north. */

interface Tile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** By the extension of the file. @returns undefined when the tile is not in it */
export const tileOfFile = async (path: string, tile: Tile): Promise<Uint8Array | undefined> =>
  path.endsWith(".mbtiles") ? tileOfMbtiles(path, tile) : tileOfPmtiles(await readFile(path), tile);

export async function tileOfPmtiles(bytes: Buffer, { z, x, y }: Tile): Promise<Uint8Array | undefined> {
  const archive = new PMTiles({
    getKey: () => "archive",
    getBytes: async (offset, length) => ({
      data: new Uint8Array(bytes.subarray(offset, offset + length)).buffer,
    }),
  });
  const tile = await archive.getZxy(z, x, y);
  return tile && new Uint8Array(tile.data);
}

export function tileOfMbtiles(path: string, { z, x, y }: Tile): Uint8Array | undefined {
  const archive = new sqlite.Database(path, { readOnly: true });
  try {
    const row = archive.get(
      "select tile_data as data from tiles where zoom_level = ? and tile_column = ? and tile_row = ?",
      [z, x, 2 ** z - 1 - y],
    );
    return row?.data as Uint8Array | undefined;
  } finally {
    archive.close();
  }
}
