import { existsSync } from "node:fs";
import type gdal from "gdal-async";
import { headOf } from "./file-head.js";
import { UnsoundMessage } from "./flatbuffer-tables.js";
import { columnTypes } from "./flatgeobuf-features.js";
import { readFlatGeobufHeader } from "./flatgeobuf-header.js";
import { query } from "./gdal-query.js";

/**
 * Which fields of a layer are true or false, and which are JSON. GDAL gives them as numbers and texts, and the binding does not
 * tell their subtypes: they are found where each format has them.
 */

export type Subtypes = ReadonlyMap<string, "bool" | "json">;

/** Bound on a header; a thousand columns need a tenth of it. */
const maxHeaderBytes = 1024 ** 2;

interface LayerOfFile {
  readonly driver: string;
  readonly dataset: gdal.Dataset;
  /** Name of the layer. */
  readonly layer: string;
  readonly path: string;
}

export function subtypesOf({ driver, dataset, layer, path }: LayerOfFile): Subtypes {
  try {
    if (driver === "FlatGeobuf") return typesIn(path);
    if (driver === "GPKG") return columnsOf(dataset, layer);
    if (driver === "GML") return propertiesOf(path.replace(/\w+$/, "gfs"), layer);
  } catch (error) {
    // A damaged header, of which GDAL tells.
    if (!(error instanceof UnsoundMessage)) throw error;
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
  for (const [kind] of headOf(path, maxHeaderBytes)
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

function typesIn(path: string): Subtypes {
  const types = new Map<string, "bool" | "json">();
  for (const { name, type } of readFlatGeobufHeader(path).columns) {
    if (type === columnTypes.bool) types.set(name, "bool");
    else if (type === columnTypes.json) types.set(name, "json");
  }
  return types;
}
