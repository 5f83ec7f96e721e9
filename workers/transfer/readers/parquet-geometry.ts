import type { FileMetaData, SchemaElement } from "hyparquet";
import { refused } from "../refusal.js";

/** The geometry column of a Parquet file, by the metadata `geo` of GeoParquet or by the column's own type. */

export interface ParquetGeometry {
  readonly column: string;
  /** For `transformFrom`; undefined = longitude and latitude of WGS 84. */
  readonly crs: string | undefined;
}

interface GeoColumn {
  readonly encoding?: unknown;
  readonly crs?: unknown;
}

/**
 * @param srsIsGiven whether the request names the spatial reference, so that the file's own is not needed
 * @throws Refusal for encodings other than WKB, and spatial references without an EPSG number
 */
export function geometryOf(
  { key_value_metadata: pairs, schema }: FileMetaData,
  columns: readonly SchemaElement[],
  srsIsGiven: boolean,
): ParquetGeometry | undefined {
  const text = pairs?.find(({ key }) => key === "geo")?.value;
  if (text !== undefined) return ofMetadata(text, columns, srsIsGiven);
  const typed = columns.find(
    ({ logical_type: type }) => type?.type === "GEOMETRY" || type?.type === "GEOGRAPHY",
  );
  if (!typed || schema.length === 0) return undefined;
  const type = typed.logical_type as { crs?: string };
  return { column: typed.name, crs: srsIsGiven ? undefined : ofText(type.crs ?? "OGC:CRS84") };
}

function ofMetadata(
  text: string,
  columns: readonly SchemaElement[],
  srsIsGiven: boolean,
): ParquetGeometry | undefined {
  const geo = parsed(text);
  const name = geo.primary_column;
  if (typeof name !== "string" || !columns.some((column) => column.name === name))
    throw refused("The metadata of the file names a geometry column that it does not have.");
  const all = geo.columns;
  const column = isObject(all) && Object.hasOwn(all, name) ? (all[name] as GeoColumn) : {};
  if (typeof column.encoding !== "string" || column.encoding.toUpperCase() !== "WKB")
    throw refused("The geometry of the file is not encoded as WKB, which is the only encoding that is read.");
  return { column: name, crs: srsIsGiven ? undefined : ofCrs(column.crs) };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const geo: unknown = JSON.parse(text);
    if (isObject(geo)) return geo;
  } catch {
    // Refused below.
  }
  throw refused('The metadata "geo" of the file is not valid.');
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @param crs PROJJSON; absent = OGC:CRS84, null = unknown */
function ofCrs(crs: unknown): string | undefined {
  if (crs === undefined || crs === null) return undefined;
  if (typeof crs === "string") return ofText(crs);
  const id = isObject(crs) && (isObject(crs.id) ? crs.id : Array.isArray(crs.ids) ? crs.ids[0] : undefined);
  if (!isObject(id)) throw unknownCrs();
  return ofText(`${String(id.authority)}:${String(id.code)}`);
}

function ofText(crs: string): string | undefined {
  if (/^OGC:CRS84h?$/i.test(crs)) return undefined;
  const number = /^(?:EPSG|srid):(\d{1,6})$/i.exec(crs)?.[1];
  if (number === undefined) throw unknownCrs();
  return number;
}

const unknownCrs = (): Error =>
  refused("The spatial reference of the file has no EPSG number; name it with the parameter srs.");
