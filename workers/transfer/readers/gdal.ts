import gdal from "gdal-async";
import { badFeature, badGeometry, refused } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import type { RowSink } from "../sink.js";
import { transformOf } from "../srs.js";
import type { Reader } from "./reader.js";

/** Reads vector files through GDAL, with the one driver that fits the extension. */

/** A reader of files of one driver. */
export const readGdal =
  (driver: string): Reader =>
  async ({ path, sink, srs, encoding }) => {
    configure(encoding);
    const dataset = open(path, driver);
    try {
      const layers = featureLayers(dataset, sink);
      for (const layer of layers) {
        if (!srs.isGiven) sink.transform = layer.srs ? transformOf(layer.srs) : undefined;
        await readLayer(layer, { dataset, sink, named: layers.length > 1 });
      }
    } finally {
      dataset.close();
    }
  };

/** Options of drivers that GDAL reads from its configuration, which holds for the process. */
function configure(encoding: string | undefined): void {
  gdal.config.set("SHAPE_ENCODING", encoding ?? null);
  gdal.config.set("DXF_ENCODING", encoding ?? null);
  // A shapefile without its index of records can still be read.
  gdal.config.set("SHAPE_RESTORE_SHX", "YES");
}

function open(path: string, driver: string): gdal.Dataset {
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

/** The layers that hold features with geometry; those without, when there are no others. */
function featureLayers(dataset: gdal.Dataset, sink: RowSink): gdal.Layer[] {
  const all = [...dataset.layers].filter((layer) => layer.features.count() !== 0);
  const spatial = all.filter((layer) => layer.geomType !== gdal.wkbNone);
  if (spatial.length === 0) return all;
  for (const { name } of all.filter((layer) => !spatial.includes(layer)))
    sink.note(`The table "${name}" has no geometry and was left out.`);
  return spatial;
}

interface LayerTask {
  readonly dataset: gdal.Dataset;
  readonly sink: RowSink;
  /** Whether the layer's name becomes a property, since the file has several. */
  readonly named: boolean;
}

async function readLayer(layer: gdal.Layer, { dataset, sink, named }: LayerTask): Promise<void> {
  const names = layer.fields.getNames();
  const source = typedLayer(dataset, layer);
  const layerName = named && !names.includes("layer") ? layer.name : undefined;
  const before = sink.rows;
  // Counts are known before the first feature is read where the format has them.
  const expected = layer.features.count();
  const { features } = source;
  gdal.lastError = null;
  for (let feature = features.first(); feature; feature = features.next()) {
    const read = feature;
    sink.add((row) => {
      writeGeometry(row, read);
      writeFields(row, names, read);
      if (layerName !== undefined) row.property("layer", layerName);
    });
    if (sink.isFull) await sink.flush();
  }
  // GDAL ends a layer early, without an exception, where it cannot read on.
  const read = sink.rows - before;
  if (read < expected)
    throw refused(
      `The file is damaged: only ${read} of the ${expected} features of "${layer.name}" can be read.`,
    );
}

/**
 * The layer with whole numbers of 64 bits and with times as text: the binding gives the former as doubles, and the latter
 * without fractions of seconds.
 */
function typedLayer(dataset: gdal.Dataset, layer: gdal.Layer): gdal.Layer {
  const fields = layer.fields.map((field) => ({ name: field.name, type: field.type }));
  const isInexact = ({ type }: { type: string }) => inexactTypes.has(type);
  if (!fields.some(isInexact)) return layer;
  const list = fields.map((field) => {
    const name = quoted(field.name);
    return isInexact(field) ? `cast(${name} as character(64)) as ${name}` : name;
  });
  return dataset.executeSQL(`select ${list.join(", ")} from ${quoted(layer.name)}`);
}

const inexactTypes: ReadonlySet<string> = new Set([
  gdal.OFTInteger64,
  gdal.OFTDateTime,
  gdal.OFTDate,
  gdal.OFTTime,
]);

const quoted = (name: string): string => `"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

function writeGeometry(row: RowEncoder, feature: gdal.Feature): void {
  const geometry = feature.getGeometry();
  if (!geometry) {
    row.noGeometry();
    return;
  }
  let wkb: Buffer;
  try {
    wkb = geometry.toWKB("LSB");
  } catch {
    throw badGeometry("its geometry cannot be read");
  }
  row.wkbGeometry(wkb);
}

function writeFields(row: RowEncoder, names: readonly string[], feature: gdal.Feature): void {
  let values: unknown[];
  try {
    values = feature.fields.toArray();
  } catch {
    throw badFeature("its values cannot be read");
  }
  for (let index = 0; index < names.length; index++) {
    const value = values[index];
    const name = names[index]!;
    if (value === null || value === undefined) row.property(name, null);
    else if (typeof value === "string" || typeof value === "number") row.property(name, value);
    else row.json(name, JSON.stringify(value));
  }
}
