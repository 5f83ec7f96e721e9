import { existsSync } from "node:fs";
import { readGdal } from "./gdal.js";
import type { Reader } from "./reader.js";

const read = readGdal("ESRI Shapefile");

/** A shapefile. Its table, its index and its spatial reference may be missing. */
export const readShapefile: Reader = async (task) => {
  const { path, sink } = task;
  if (!existsSync(`${path.slice(0, -3)}dbf`))
    sink.note("A shapefile came without its .dbf, so that its objects have geometry only.");
  await read(task);
};
