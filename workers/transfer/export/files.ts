import { join } from "node:path";
import { allOrNone } from "../../../src/all-or-none.js";
import type { ExportFileRequest } from "../../../src/hosts/export-messages.js";
import {
  type Field,
  type GeometryTypeName,
  geometryTypeNames,
  geometryTypes,
  type LayerHeader,
} from "./flatgeobuf.js";
import { GdalOutput } from "./gdal-output.js";
import { geoMetadata } from "./geo-metadata.js";
import { type Losses, lossOf } from "./losses.js";
import { mifOutput, mifParts } from "./mapinfo-interchange.js";
import { flatGeobufOutput, type Output } from "./output.js";
import { parquetOutput } from "./parquet.js";
import { shapefileOutput, shapefileParts } from "./shapefile.js";
import type { Extent, Survey } from "./survey.js";
import { WkbRuns } from "./wkb-runs.js";

/** The files of each format, which object goes to which of them, and what becomes of geometries that they cannot hold. */

export interface PlannedFile {
  readonly output: Output;
  /** Files on the disk, with what follows the layer's title in their names. */
  readonly parts: readonly { readonly ending: string; readonly path: string }[];
}

export interface FilePlan {
  readonly files: readonly [PlannedFile, ...PlannedFile[]];
  /** The file for an object, and the geometry to write there. */
  readonly place: (wkb: Buffer | null) => { readonly file: PlannedFile; readonly wkb: Buffer | null };
  readonly notes: readonly string[];
}

export async function planFiles(
  request: ExportFileRequest,
  fields: readonly Field[],
  survey: Survey,
  losses: Losses,
): Promise<FilePlan> {
  switch (request.format) {
    case "shp":
      return shapefiles(request, fields, survey, losses);
    case "mif":
      return mapInfoInterchange(request, fields, survey, losses);
    case "tab":
      return mapInfoTable(request, fields, survey, losses);
    case "parquet":
      return parquet(request, fields, survey);
    default:
      return oneFile(request, fields, survey, losses);
  }
}

/** Type of a WKB geometry, and whether it has heights. */
const typeOf = (wkb: Buffer): { readonly type: GeometryTypeName; readonly hasZ: boolean } => {
  const code = wkb.readUInt32LE(1);
  return { type: geometryTypeNames[code % 1_000]!, hasZ: code >= 1_000 };
};

const runs = new WkbRuns();

/** Whether it holds no position. */
function isEmpty(wkb: Buffer): boolean {
  const code = wkb.readUInt32LE(1) % 1_000;
  if (code === geometryTypes.Point) return Number.isNaN(wkb.readDoubleLE(5));
  if (wkb.readUInt32LE(5) === 0) return true;
  if (code <= geometryTypes.Polygon) return false;
  runs.read(wkb);
  return runs.length === 0;
}

const filePath = ({ folder }: ExportFileRequest, ending: string): string => join(folder, `layer${ending}`);

/** @param ending of the files' names before their extensions */
const partsOf = (
  request: ExportFileRequest,
  ending: string,
  extensions: readonly string[],
): PlannedFile["parts"] =>
  extensions.map((extension) => ({
    ending: `${ending}${extension}`,
    path: filePath(request, `${ending}${extension}`),
  }));

const noHeight = lossOf(
  "# geometry without heights got the height 0.",
  "# geometries without heights got the height 0.",
);
const emptied = lossOf(
  "# empty geometry was written as no geometry.",
  "# empty geometries were written as no geometry.",
);
const mixed = lossOf(
  "# geometry of several kinds was left out.",
  "# geometries of several kinds were left out.",
);
const gathered = lossOf(
  "# geometry collection: parts of one kind became one multi-part geometry.",
  "# geometry collections: parts of one kind became one multi-part geometry.",
);
const split = lossOf(
  "# object of several points or kinds of geometry became a row for each part, which imports join again.",
  "# objects of several points or kinds of geometry became a row for each part, which imports join again.",
);
const flattened = lossOf("# geometry lost its heights.", "# geometries lost their heights.");

/** The geometry for a file whose geometries all have heights, or none. */
function withHeights(wkb: Buffer, hasZ: boolean, losses: Losses): Buffer {
  if (hasZ && !typeOf(wkb).hasZ && !isEmpty(wkb)) losses.add(noHeight);
  return wkb;
}

/** GeoPackage and FlatGeobuf hold any geometry. */
async function oneFile(
  request: ExportFileRequest,
  fields: readonly Field[],
  { geometries }: Survey,
  losses: Losses,
): Promise<FilePlan> {
  const [first, ...others] = new Set(geometries.map(({ type }) => type));
  const hasZ = geometries.some((one) => one.hasZ);
  const header = {
    name: request.layer,
    geometry: first !== undefined && others.length === 0 ? first : ("Unknown" as const),
    hasZ,
    fields,
    srid: request.srid,
  };
  const ending = `.${request.format}`;
  const path = filePath(request, ending);
  const isFlatGeobuf = request.format === "fgb";
  const file = {
    output: isFlatGeobuf ? await flatGeobufOutput(path, header) : geoPackage(path, header),
    parts: [{ ending, path }],
  };
  const place = (wkb: Buffer | null) => {
    // In FlatGeobuf, by which GeoPackages are written too, GDAL reads nothing beyond one of these.
    if (wkb && typeOf(wkb).type === "MultiLineString" && isEmpty(wkb)) {
      losses.add(emptied);
      return { file, wkb: null };
    }
    return { file, wkb: wkb && withHeights(wkb, hasZ, losses) };
  };
  return { files: [file], place, notes: [] };
}

/** Parquet holds any geometry, with heights and without. */
async function parquet(
  request: ExportFileRequest,
  fields: readonly Field[],
  survey: Survey,
): Promise<FilePlan> {
  const ending = ".parquet";
  const path = filePath(request, ending);
  const output = await parquetOutput(path, fields, geoMetadata(survey, request.srid));
  const file = { output, parts: [{ ending, path }] };
  return { files: [file], place: (wkb) => ({ file, wkb }), notes: [] };
}

/** An index that is there from the beginning is updated for each object after the first batch, which takes longer. */
const geoPackage = (path: string, header: LayerHeader): Output =>
  new GdalOutput(
    path,
    header,
    ["-f", "GPKG", "-lco", "SPATIAL_INDEX=NO"],
    `select CreateSpatialIndex('${header.name}','geom')`,
  );

/** Shapefiles hold one kind of geometry each. */
const shapeKinds = [
  { ending: "-points", kind: "points", types: ["Point"] },
  { ending: "-multipoints", kind: "multipoints", types: ["MultiPoint"] },
  { ending: "-lines", kind: "lines", types: ["LineString", "MultiLineString"] },
  { ending: "-polygons", kind: "polygons", types: ["Polygon", "MultiPolygon"] },
] as const;

async function shapefiles(
  request: ExportFileRequest,
  fields: readonly Field[],
  { geometries }: Survey,
  losses: Losses,
): Promise<FilePlan> {
  const found = shapeKinds.filter(({ types }) => geometries.some(({ type }) => isOneOf(types, type)));
  const kinds = found.length > 0 ? found : shapeKinds.slice(0, 1);
  const files = await allOrNone(
    kinds.map(async ({ ending: own, kind, types }) => {
      const hasZ = geometries.some((one) => one.hasZ && isOneOf(types, one.type));
      const ending = kinds.length > 1 ? own : "";
      const header = { kind, hasZ, fields, srid: request.srid };
      const output = await shapefileOutput(filePath(request, ending), header);
      return { output, parts: partsOf(request, ending, shapefileParts), types, hasZ };
    }),
    ({ output }) => output.abandon(),
  );
  const [first, ...others] = files;
  if (!first) throw new Error("There is no kind of geometry.");
  const place: FilePlan["place"] = (wkb) => {
    if (!wkb) return { file: first, wkb };
    const { type } = typeOf(wkb);
    const file = files.find(({ types }) => isOneOf(types, type));
    if (!file) losses.add(mixed);
    else if (isEmpty(wkb)) losses.add(emptied);
    else return { file, wkb: withHeights(wkb, file.hasZ, losses) };
    return { file: file ?? first, wkb: null };
  };
  const notes =
    others.length > 0
      ? [
          `Each kind of geometry has files of its own: ${kinds.map(({ ending }) => ending.slice(1)).join(", ")}. ` +
            "Objects without geometry are among the first.",
        ]
      : [];
  return { files: [first, ...others], place, notes };
}

const isOneOf = (types: readonly GeometryTypeName[], type: GeometryTypeName): boolean => types.includes(type);

async function mapInfoInterchange(
  request: ExportFileRequest,
  fields: readonly Field[],
  { geometries }: Survey,
  losses: Losses,
): Promise<FilePlan> {
  const hasCollections = geometries.some(({ type }) => isOneOf(collections, type));
  const output = await mifOutput(filePath(request, ""), { fields, srid: request.srid, hasCollections });
  const file = { output, parts: partsOf(request, "", mifParts) };
  const place = (wkb: Buffer | null) => {
    const written = wkb && mapInfoGeometry(wkb, losses);
    if (written && typeOf(written).type === "GeometryCollection") losses.add(gathered);
    return { file, wkb: written };
  };
  return { files: [file], place, notes: [] };
}

const collections: readonly GeometryTypeName[] = ["MultiPoint", "GeometryCollection"];

async function mapInfoTable(
  request: ExportFileRequest,
  fields: readonly Field[],
  { extent }: Survey,
  losses: Losses,
): Promise<FilePlan> {
  const header = { name: "layer", geometry: "Unknown" as const, hasZ: false, fields, srid: request.srid };
  const bounds = tabBounds(extent, request.srid);
  const output = new GdalOutput(filePath(request, ".tab"), header, [
    ...["-f", "MapInfo File", "-lco", "ENCODING=CP1251", "-lco", "FORMAT=TAB"],
    ...["-lco", `BOUNDS=${bounds.join(",")}`],
  ]);
  const file = { output, parts: partsOf(request, "", [".tab", ".dat", ".map", ".id"]) };
  const place = (wkb: Buffer | null) => {
    const written = wkb && mapInfoGeometry(wkb, losses);
    if (written && isOneOf(collections, typeOf(written).type)) losses.add(split);
    return { file, wkb: written };
  };
  const step = `${tabStep(bounds)} ${request.srid === 4326 ? "degrees" : "metres"}`;
  return { files: [file], place, notes: [`Coordinates are rounded to ${step}.`] };
}

function mapInfoGeometry(wkb: Buffer, losses: Losses): Buffer | null {
  if (isEmpty(wkb)) {
    losses.add(emptied);
    return null;
  }
  if (typeOf(wkb).hasZ) losses.add(flattened);
  return wkb;
}

/** TAB has coordinates as whole numbers between bounds: the closer these are, the finer the coordinates. */
function tabBounds(extent: Extent | undefined, srid: number): Extent {
  const most = srid === 4326 ? 180 : 20_037_508.342789244;
  const [west, south, east, north] = extent ?? [-most, -most / 2, most, most / 2];
  const margin = Math.max(east - west, north - south, most / 1e6) / 100;
  return [west - margin, south - margin, east + margin, north + margin];
}

/** Distance of coordinates: bounds have 2 · 10⁹ steps. */
const tabStep = ([west, south, east, north]: Extent): string =>
  (Math.max(east - west, north - south) / 2e9).toPrecision(1);
