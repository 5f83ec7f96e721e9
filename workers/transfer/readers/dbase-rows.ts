import { closeSync, existsSync, openSync, readSync } from "node:fs";

/** Rows of a dBASE table (.dbf of a shapefile, .dat of MapInfo), by its header and their marks. */

interface Table {
  readonly rows: number;
  /** Bytes of the header, and of a row. */
  readonly header: number;
  readonly row: number;
}

const pieceBytes = 1024 ** 2;
const deletedMark = 0x2a;

/** The number of rows that the header gives, deleted ones included; undefined when the header is cut off. */
export const rowsOf = (path: string): number | undefined => reading(path, (file) => headerOf(file)?.rows);

/** The number of rows that are marked as deleted, which stay in the file until it is packed; 0 without a table. */
export function deletedRowsOf(path: string): number {
  if (!existsSync(path)) return 0;
  return reading(path, (file) => {
    const table = headerOf(file);
    if (!table || table.row === 0) return 0;
    const piece = Buffer.alloc(Math.max(table.row, pieceBytes - (pieceBytes % table.row)));
    let deleted = 0;
    let place = table.header;
    for (let left = table.rows; left > 0; ) {
      const read = readSync(file, piece, 0, piece.length, place);
      const rows = Math.min(left, Math.floor(read / table.row));
      if (rows === 0) break;
      for (let row = 0; row < rows; row++) if (piece[row * table.row] === deletedMark) deleted++;
      left -= rows;
      place += rows * table.row;
    }
    return deleted;
  });
}

function headerOf(file: number): Table | undefined {
  const header = Buffer.alloc(12);
  const read = readSync(file, header, 0, 12, 0);
  if (read < 8) return undefined;
  return { rows: header.readUInt32LE(4), header: header.readUInt16LE(8), row: header.readUInt16LE(10) };
}

function reading<T>(path: string, work: (file: number) => T): T {
  const file = openSync(path, "r");
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}
