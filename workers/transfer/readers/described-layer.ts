import gdal from "gdal-async";
import type { FileLayer } from "../../../src/hosts/import-messages.js";
import { textOf } from "../srs.js";
import { readReference } from "../srs-objects.js";

/** What GDAL tells of a layer before its features are read. */

/** By the numbers of types of geometry; those with heights have the same names. */
const geometryNames: Readonly<Record<number, string>> = {
  1: "Point",
  2: "LineString",
  3: "Polygon",
  4: "MultiPoint",
  5: "MultiLineString",
  6: "MultiPolygon",
  7: "GeometryCollection",
};

/** GDAL marks heights by the highest bit, or by a thousand, as ISO WKB does. */
const withoutHeights = (type: number): number => (type & 0x7fffffff) % 1_000;

/** Characters of a spatial reference that has no number. */
const longestSrs = 5_000;

export function describedLayer(
  dataset: gdal.Dataset,
  layer: gdal.Layer,
): Pick<FileLayer, "name" | "geometry" | "srs"> {
  const { name, geomType } = layer;
  const srs = readReference(dataset, layer, textOf);
  return {
    name,
    ...(geomType !== gdal.wkbNone && { geometry: geometryNames[withoutHeights(geomType)] ?? "Geometry" }),
    ...(srs !== undefined && srs.length <= longestSrs && { srs }),
  };
}
