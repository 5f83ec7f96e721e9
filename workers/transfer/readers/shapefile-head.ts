import { existsSync, statSync } from "node:fs";
import { headOf } from "./file-head.js";
import type { FindTables } from "./reader.js";

/** What the head of a shapefile tells of it. */

/** By the numbers of types of shapes; those with heights are 10 more, those with measures 20 more. */
const geometryNames: Readonly<Record<number, string>> = {
  1: "Point",
  3: "LineString",
  5: "Polygon",
  8: "MultiPoint",
};

const headBytes = 100;
/** Of each record of an index. */
const recordBytes = 8;

/** A shapefile is one table, which its file names. */
export const findShapes: FindTables = async ({ path }) => {
  const head = headOf(path, headBytes);
  const type = head.length < headBytes ? 0 : head.readInt32LE(32);
  const geometry = geometryNames[type % 10];
  const index = `${path.slice(0, -3)}shx`;
  const features = existsSync(index)
    ? Math.max(0, Math.floor((statSync(index).size - headBytes) / recordBytes))
    : undefined;
  return [
    {
      ...{ name: "", place: 0 },
      ...(geometry !== undefined && { geometry }),
      ...(features !== undefined && { features }),
    },
  ];
};
