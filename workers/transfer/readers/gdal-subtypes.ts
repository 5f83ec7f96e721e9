import { closeSync, existsSync, openSync, readSync } from "node:fs";
import type gdal from "gdal-async";
import { columnTypes } from "../export/flatgeobuf.js";
import { query } from "./gdal-query.js";

/**
 * Which fields of a layer are true or false, and which are JSON. GDAL gives them as numbers and texts, and the binding does not
 * tell their subtypes: they are found where each format has them.
 */

export type Subtypes = ReadonlyMap<string, "bool" | "json">;

/** Bound on a header; a thousand columns need a tenth of it. */
const maxHeaderBytes = 1024 ** 2;
/** Numbers of fields in FlatGeobuf's tables `Header` and `Column` (header.fbs). */
const columnsField = 7;
const nameField = 0;
const typeField = 1;

interface LayerOfFile {
  readonly driver: string;
  readonly dataset: gdal.Dataset;
  /** Name of the layer. */
  readonly layer: string;
  readonly path: string;
}

export function subtypesOf({ driver, dataset, layer, path }: LayerOfFile): Subtypes {
  try {
    if (driver === "FlatGeobuf") return typesIn(head(path));
    if (driver === "GPKG") return columnsOf(dataset, layer);
    if (driver === "GML") return propertiesOf(path.replace(/\w+$/, "gfs"), layer);
  } catch (error) {
    // A damaged header, of which GDAL tells.
    if (!(error instanceof RangeError)) throw error;
  }
  return new Map();
}

/** The columns of a table in a GeoPackage, which has no JSON. */
function columnsOf(dataset: gdal.Dataset, table: string): Subtypes {
  const types = new Map<string, "bool">();
  const columns = query(dataset, `pragma table_info("${table.replaceAll('"', '""')}")`);
  columns.features.forEach(({ fields }) => {
    if (String(fields.get("type")).toUpperCase() === "BOOLEAN") types.set(String(fields.get("name")), "bool");
  });
  return types;
}

/** The properties that GDAL found in a GML file, as it has written them beside it. */
function propertiesOf(path: string, layer: string): Subtypes {
  const types = new Map<string, "bool">();
  if (!existsSync(path)) return types;
  for (const [kind] of head(path)
    .toString()
    .matchAll(/<GMLFeatureClass>.*?<\/GMLFeatureClass>/gs)) {
    if (/<Name>(.*?)<\/Name>/.exec(kind)?.[1] !== layer) continue;
    for (const [property] of kind.matchAll(/<PropertyDefn>.*?<\/PropertyDefn>/gs)) {
      const name = /<Name>(.*?)<\/Name>/.exec(property)?.[1];
      if (name !== undefined && property.includes("<Subtype>Boolean</Subtype>")) types.set(name, "bool");
    }
  }
  return types;
}

function head(path: string): Buffer {
  const bytes = Buffer.alloc(maxHeaderBytes);
  const file = openSync(path, "r");
  try {
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

function typesIn(bytes: Buffer): Subtypes {
  const types = new Map<string, "bool" | "json">();
  // The table follows the file's mark and the header's size.
  const columns = fieldAt(bytes, target(bytes, 12), columnsField);
  if (columns === undefined) return types;
  const list = target(bytes, columns);
  for (let index = 0; index < bytes.readUInt32LE(list); index++) {
    const column = target(bytes, list + 4 + 4 * index);
    const [name, type] = [fieldAt(bytes, column, nameField), fieldAt(bytes, column, typeField)];
    if (name === undefined || type === undefined) continue;
    const text = target(bytes, name);
    const key = bytes.toString("utf8", text + 4, text + 4 + bytes.readUInt32LE(text));
    if (bytes[type] === columnTypes.bool) types.set(key, "bool");
    else if (bytes[type] === columnTypes.json) types.set(key, "json");
  }
  return types;
}

/** What the reference at a place points to. */
const target = (bytes: Buffer, place: number): number => place + bytes.readUInt32LE(place);

/** The place of a table's field; undefined when it is absent. */
function fieldAt(bytes: Buffer, table: number, field: number): number | undefined {
  const vtable = table - bytes.readInt32LE(table);
  const at = 4 + 2 * field;
  const offset = at < bytes.readUInt16LE(vtable) ? bytes.readUInt16LE(vtable + at) : 0;
  return offset === 0 ? undefined : table + offset;
}
