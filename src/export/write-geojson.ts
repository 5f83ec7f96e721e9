import { listStatement } from "../features/list.js";
import { readList } from "../features/read.js";
import type { Translations } from "../features/translations.js";
import type { ExportContent, ExportServices } from "./export-content.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { selectionOf } from "./export-survey.js";

/** Writes layers as GeoJSON; an import of the file restores the same objects. */

/** RFC 7946 allows EPSG:4326 only; for other systems many readers, including our import, use `crs` of GeoJSON 2008. */
const crs = { type: "name", properties: { name: "urn:ogc:def:crs:EPSG::3857" } };

/** A FeatureCollection, sorted by object id. */
export async function writeGeoJson(
  { db }: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportContent> {
  const { layer } = target;
  const statement = listStatement(layer, {
    fields: request.fields ?? "all",
    ...selectionOf(target, request),
    sort: [],
    offset: 0,
    geom: { srid: request.srid },
    translations: translationsOf(target, request.languages),
    form: "features",
  });
  const crsMember = request.srid === 3857 ? `"crs":${JSON.stringify(crs)},` : "";
  const text = await readList(db, {
    statement,
    limit: undefined,
    hasGeometry: true,
    text: { opening: `{"type":"FeatureCollection",${crsMember}"features":[\n`, closing: "\n]}\n" },
    signal: request.signal,
    onObjects: request.onObjects,
  });
  return {
    files: [{ ending: ".geojson", chunks: typeof text === "string" ? whole(text) : text }],
    notes: [],
  };
}

function translationsOf({ layer, map }: ExportTarget, requested: ExportRequest["languages"]): Translations {
  const { languages } = map.project;
  const codes = new Set(layer.columns.map((column) => column.code));
  return { languages: requested ?? languages, others: requested === undefined, names: { languages, codes } };
}

async function* whole(text: string): AsyncGenerator<string, void> {
  yield text;
}
