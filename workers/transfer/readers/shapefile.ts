import { closeSync, existsSync, openSync, readSync, rmSync } from "node:fs";
import { readGdal } from "./gdal.js";
import type { Reader } from "./reader.js";

const read = readGdal("ESRI Shapefile");

/** A shapefile. Its table, its index and its spatial reference may be missing. */
export const readShapefile: Reader = async (task) => {
  const { path, sink } = task;
  const table = `${path.slice(0, -3)}dbf`;
  if (!existsSync(table))
    sink.note("A shapefile came without its .dbf, so that its objects have geometry only.");
  else if (rowsOf(table) === 0) {
    // GDAL reads as many features as the table has rows.
    rmSync(table);
    sink.note("The .dbf of a shapefile has no rows, so that its objects have geometry only.");
  }
  await read(task);
};

/** The number of rows that the header of a dBASE table gives; undefined when the header is cut off. */
function rowsOf(table: string): number | undefined {
  const file = openSync(table, "r");
  try {
    const header = Buffer.alloc(8);
    return readSync(file, header, 0, 8, 0) === 8 ? header.readUInt32LE(4) : undefined;
  } finally {
    closeSync(file);
  }
}
