import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import gdal from "gdal-async";
import { badGeometry, refused } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import type { RowSink } from "../sink.js";
import { transformOf } from "../srs.js";
import { readReference } from "../srs-objects.js";
import { describedLayer } from "./described-layer.js";
import { requireFewInserts } from "./dxf-blocks.js";
import type { FeatureSource } from "./feature-source.js";
import { UnsoundMessage } from "./flatbuffer-tables.js";
import { directFeatures } from "./flatgeobuf.js";
import { copiedFeatures } from "./gdal-copy.js";
import { fileEncoding } from "./gdal-encoding.js";
import { GdalFeatures } from "./gdal-features.js";
import { query } from "./gdal-query.js";
import { type Subtypes, subtypesOf } from "./gdal-subtypes.js";
import { cellOf, isBlankSheet, sampleOf } from "./gdal-table.js";
import { hasMembers } from "./gml-members.js";
import { JoinedParts } from "./joined-parts.js";
import type { OwnTable, Reader } from "./reader.js";
import { tableGeometry } from "./table-geometry.js";

/** Reads vector files through GDAL, with the one driver that fits the extension. */

export interface GdalOptions {
  /** Makes texts of those that GDAL gives. */
  readonly decode?: ((text: string) => string) | undefined;
  /** Whether the file has a geometry for the feature of this id, for which GDAL gives none. */
  readonly hasGeometry?: ((fid: number) => boolean) | undefined;
  /** The number of features that the file has, but marks as deleted: GDAL counts them and leaves them out. */
  readonly deleted?: (() => number) | undefined;
  /** The number of features that the file tells, where GDAL may count less. */
  readonly count?: (() => number) | undefined;
  /** Whether several features may be parts of one object. */
  readonly hasParts?: boolean | undefined;
}

/** A reader of files of one driver. */
export const readGdal =
  (driver: string, { decode, hasGeometry, deleted, count, hasParts }: GdalOptions = {}): Reader =>
  async ({ path, sink, srs, encoding, budget, table }) => {
    if (driver === "DXF") await requireFewInserts(path);
    const label = encoding ?? fileEncoding(driver, path);
    sink.encoding = label;
    const dataset = openVector(path, driver, label);
    if (driver === "DXF" && !endsWithMark(path)) sink.note(cutOff);
    try {
      const layers = featureLayers(dataset, sink, table);
      // GDAL gives up silently on a document that is nested too deep; it would replace all objects by none.
      if (layers.length === 0 && !table && driver === "GML" && hasMembers(path))
        throw refused("The file has features, but none of them can be read.");
      if (layers.length === 1 && driver === "GPKG") sink.title = titleOf(dataset, layers[0]!.layer.name);
      for (const { layer, expected: counted } of layers) {
        const expected = Math.max(counted, count?.() ?? 0);
        if (!srs.isGiven) sink.transform = readReference(dataset, layer, transformOf);
        const subtypes = subtypesOf({ driver, dataset, layer: layer.name, path });
        const named = layers.length > 1;
        const countsMembers = path.endsWith(".mif");
        if (driver === "FlatGeobuf" && layer.fields.map(({ type }) => type).includes(gdal.OFTDateTime))
          sink.note("Times of FlatGeobuf are read to the millisecond; digits after that are left out.");
        const kinds = { countsMembers, subtypes, decode, hasGeometry, deleted };
        const task = { dataset, sink, named, srsIsGiven: srs.isGiven, expected, ...kinds };
        if (isCurved(layer)) await readCurves(layer, join(dirname(path), "lines.fgb"), task);
        else if (!(driver === "FlatGeobuf" && (await readDirectly(layer, path, task)))) {
          const copy = copiedFeatures({ driver, dataset, layer, path, expected, budget });
          const source = copy ?? new GdalFeatures(dataset, layer);
          const svcId = hasParts ? layer.fields.getNames().indexOf("svc_id") : -1;
          if (svcId < 0) await readLayer(layer, source, task);
          else await readParts(layer, new JoinedParts(source, svcId), task);
        }
      }
    } finally {
      dataset.close();
    }
  };

/** The title of a layer of a GeoPackage. */
function titleOf(dataset: gdal.Dataset, table: string): string {
  const name = table.replaceAll("'", "''");
  const found = query(dataset, `select identifier from gpkg_contents where table_name = '${name}'`);
  const title: unknown = found.features.first()?.fields.get("identifier");
  return typeof title === "string" && title !== "" ? title : table;
}

const cutOff = "The file has no mark at its end (EOF), so it may be cut off: objects may be missing.";

/** Whether a DXF file has its last line. GDAL reads files without it as far as they go. */
function endsWithMark(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(64);
    const { size } = fstatSync(file);
    const read = readSync(file, bytes, 0, bytes.length, Math.max(0, size - bytes.length));
    const end = bytes.toString("latin1", 0, read);
    // Binary DXF ends with the mark and a NUL.
    return /EOF[\s\0]*$/.test(end);
  } finally {
    closeSync(file);
  }
}

/** Options of drivers that GDAL reads from its configuration, which holds for the process. */
function configure(encoding: string | undefined): void {
  gdal.config.set("SHAPE_ENCODING", encoding ?? null);
  gdal.config.set("DXF_ENCODING", encoding ?? null);
  // A shapefile without its index of records can still be read.
  gdal.config.set("SHAPE_RESTORE_SHX", "YES");
}

/** @param encoding of its texts; undefined = as the driver finds it @throws Refusal */
export function openVector(path: string, driver: string, encoding: string | undefined): gdal.Dataset {
  configure(encoding);
  try {
    return gdal.open(path, "r", driver);
  } catch (error) {
    throw refused(`The file cannot be read as ${driver}. ${reasonOf(error, path)}`.trim());
  }
}

/** GDAL's reason without the path of the file. */
function reasonOf(error: unknown, path: string): string {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const text = error instanceof Error ? error.message : "";
  return text.replaceAll(folder, "").replace(/\/\S*/g, "…").slice(0, 200);
}

interface CountedLayer {
  readonly layer: gdal.Layer;
  /** The number of features, which the format knows or GDAL counts by reading the file. */
  readonly expected: number;
}

/**
 * The layers that hold features with geometry; those without, when there are no others.
 * @param only the layer that was asked for
 * @throws Refusal when there are none
 */
function featureLayers(dataset: gdal.Dataset, sink: RowSink, only: OwnTable | undefined): CountedLayer[] {
  // A damaged file may be opened as one of nothing, and would replace all objects by none.
  if (dataset.layers.count() === 0) throw refused("The file has no layer that can be read.");
  const all = [...dataset.layers]
    .map((layer) => ({ layer, expected: layer.features.count() }))
    .filter(({ layer, expected }) => expected !== 0 && !isBlankSheet(dataset, layer));
  const spatial = all.filter(({ layer }) => layer.geomType !== gdal.wkbNone);
  const chosen = only && dataset.layers.get(only.place).name;
  const taken = only
    ? all.filter(({ layer }) => layer.name === chosen)
    : spatial.length === 0
      ? all
      : spatial;
  for (const layer of dataset.layers) {
    const expected = all.find((one) => one.layer.name === layer.name)?.expected ?? 0;
    const isRead = taken.some((one) => one.layer.name === layer.name);
    sink.describe({ ...describedLayer(dataset, layer), features: expected, isRead });
  }
  if (only || spatial.length === 0) return taken;
  for (const { layer } of all.filter((one) => !spatial.includes(one)))
    sink.note(`The table "${layer.name}" has no geometry and was left out.`);
  return spatial;
}

/** Whether the layer is one of curves, which the binding does not hand over. */
function isCurved({ geomType }: gdal.Layer): boolean {
  const code = geomType % 1000;
  return code >= 8 && code <= 14;
}

/** Reads a layer of curves by way of a file with lines in place of them. */
async function readCurves(layer: gdal.Layer, path: string, task: LayerTask): Promise<void> {
  const options = [
    "-f",
    "FlatGeobuf",
    "-nlt",
    "CONVERT_TO_LINEAR",
    "-lco",
    "SPATIAL_INDEX=NO",
    "-nln",
    layer.name,
  ];
  // What is written can only be read after it was closed.
  gdal.vectorTranslate(path, task.dataset, [...options, layer.name]).close();
  const lines = gdal.open(path, "r", "FlatGeobuf");
  task.sink.note("Curves were replaced by lines with short segments.");
  try {
    const layer = lines.layers.get(0);
    await readLayer(layer, new GdalFeatures(lines, layer), task);
  } finally {
    lines.close();
    rmSync(path);
  }
}

/** Reads the layer of a FlatGeobuf file without GDAL. @returns false when that is not possible, and nothing was read */
async function readDirectly(layer: gdal.Layer, path: string, task: LayerTask): Promise<boolean> {
  const source = directFeatures(layer, path, task.expected);
  if (!source) return false;
  try {
    await readLayer(layer, source, task);
    return true;
  } catch (error) {
    if (!(error instanceof UnsoundMessage)) throw error;
    // GDAL tells what is wrong.
    await task.sink.restart();
    return false;
  }
}

async function readParts(layer: gdal.Layer, source: JoinedParts, task: LayerTask): Promise<void> {
  await readLayer(layer, source, task);
  if (source.joined > 0)
    task.sink.note(`Rows that were joined to the one before, as parts of one object: ${source.joined}.`);
}

interface LayerTask {
  readonly dataset: gdal.Dataset;
  readonly sink: RowSink;
  /** Whether the layer's name becomes a property, since the file has several. */
  readonly named: boolean;
  readonly srsIsGiven: boolean;
  /** The number of its features. */
  readonly expected: number;
  /** Whether that number includes the members of collections, besides the collections: GDAL counts those of a MIF so. */
  readonly countsMembers: boolean;
  /** Of fields that are not what GDAL gives them as. */
  readonly subtypes: Subtypes;
  readonly decode: GdalOptions["decode"];
  readonly hasGeometry: GdalOptions["hasGeometry"];
  readonly deleted: GdalOptions["deleted"];
}

async function readLayer(
  layer: gdal.Layer,
  source: FeatureSource,
  { sink, named, srsIsGiven, expected, countsMembers, subtypes, decode, hasGeometry, deleted }: LayerTask,
): Promise<void> {
  const fields = layer.fields.map(({ name, type }): FieldReader => {
    const subtype = subtypes.get(name);
    return {
      name: decode?.(name) ?? name,
      write: subtype ? subtypeWriters[subtype] : (fieldWriters[type] ?? writeValue),
    };
  });
  const names = fields.map(({ name }) => name);
  const geometry =
    layer.geomType === gdal.wkbNone
      ? tableGeometry(sink, { names, sample: sampleOf(layer), srsIsGiven })
      : undefined;
  const layerName = named && !fields.some(({ name }) => name === "layer") ? layer.name : undefined;
  const indexOf = (id: string) => fields.findIndex(({ name }) => name === id);
  const [ownId, svcId] = [indexOf("gml_id"), indexOf("svc_id")];
  const before = sink.rows;
  let members = 0;
  const write = (row: RowEncoder) => {
    const given = source.values();
    const values = decode ? given.map((value) => (typeof value === "string" ? decode(value) : value)) : given;
    if (geometry) geometry.write(row, (index) => cellOf(values[index]));
    else {
      const wkb = source.geometry();
      if (wkb) row.wkbGeometry(wkb);
      else if (hasGeometry?.(source.id)) throw badGeometry("its geometry is damaged");
      else row.noGeometry();
      members += membersOf(wkb);
    }
    fields.forEach((field, index) => {
      if (geometry?.takes(index) || (index === ownId && isOwnId(values[index], values[svcId]))) return;
      writeField(row, field, values[index]);
    });
    if (layerName !== undefined) row.property("layer", layerName);
  };
  try {
    while (source.next()) {
      sink.add(write);
      if (sink.isFull) await sink.flush();
    }
  } finally {
    source.close();
  }
  // GDAL ends a layer early, without an exception, where it cannot read on.
  const read = sink.rows - before;
  const known = read + (countsMembers ? members : 0) + (source instanceof JoinedParts ? source.joined : 0);
  if (known < expected && known + (deleted?.() ?? 0) < expected)
    throw refused(
      `The file is damaged: only ${read} of the ${expected} features of "${layer.name}" can be read.`,
    );
}

/** The number of members of a collection; 0 for other geometry, and for none. */
const membersOf = (wkb: Buffer | undefined): number =>
  wkb && (wkb.readUInt32LE(1) & 0xff) === gdal.wkbGeometryCollection ? wkb.readUInt32LE(5) : 0;

interface FieldReader {
  readonly name: string;
  readonly write: FieldWriter;
}

type FieldWriter = (row: RowEncoder, name: string, value: unknown) => void;

const writeValue: FieldWriter = (row, name, value) => {
  if (typeof value === "string" || typeof value === "number") row.property(name, value);
  else row.json(name, JSON.stringify(value));
};

/** Writers for the types that `typedLayer` turns into text. */
const fieldWriters: Readonly<Record<string, FieldWriter>> = {
  [gdal.OFTInteger64]: (row, name, value) => row.untyped(name, String(value)),
  [gdal.OFTDate]: (row, name, value) => row.property(name, isoText(String(value))),
  [gdal.OFTDateTime]: (row, name, value) => row.property(name, isoText(String(value))),
};

const subtypeWriters: Readonly<Record<"bool" | "json", FieldWriter>> = {
  bool: (row, name, value) => row.property(name, value === 0 || value === 1 ? value === 1 : String(value)),
  json: (row, name, value) => {
    const text = String(value);
    // What only claims to be JSON stays a text.
    if (isJson(text)) row.json(name, text);
    else row.property(name, text);
  },
};

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether an id of GML is the one that our exports make of `svc_id`. */
const isOwnId = (id: unknown, svcId: unknown): boolean => svcId !== undefined && id === `f${svcId}`;

/** GDAL's text of a date, such as `2024/02/29 23:59:58.125+03`, in ISO 8601. A date has no time. */
const isoText = (text: string): string =>
  text
    .replace(/^(\d{4})\/(\d\d)\/(\d\d) ?/, (_, year, month, day) => `${year}-${month}-${day}T`)
    .replace(/T(00:00:00)?$/, "");

function writeField(row: RowEncoder, { name, write }: FieldReader, value: unknown): void {
  if (value === null || value === undefined) row.property(name, null);
  else write(row, name, value);
}
