import { listStatement } from "../features/list.js";
import { readList } from "../features/read.js";
import type { Translations } from "../features/translations.js";
import type { Database } from "../storage/postgres.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";

/** Layers as GeoJSON, which an import reads back into the same objects. */

/** RFC 7946 knows EPSG:4326 alone; for others readers, our import among them, look at the member of its predecessor. */
const crs = { type: "name", properties: { name: "urn:ogc:def:crs:EPSG::3857" } };

/** A FeatureCollection in the order of the ids. */
export async function writeGeoJson(
  db: Database,
  target: ExportTarget,
  request: ExportRequest,
): Promise<AsyncIterable<string>> {
  const { layer, map } = target;
  const main = map.project.languages[0];
  const statement = listStatement(layer, {
    fields: "all",
    ids: request.ids,
    envelope: request.envelope,
    sort: [],
    offset: 0,
    geom: { srid: request.srid },
    languages: { own: main, main },
    translations: translationsOf(target, request.languages),
    form: "features",
  });
  const named = request.srid === 3857 ? `"crs":${JSON.stringify(crs)},` : "";
  const text = await readList(db, {
    statement,
    limit: undefined,
    hasGeometry: true,
    text: { opening: `{"type":"FeatureCollection",${named}"features":[\n`, closing: "\n]}\n" },
    signal: request.signal,
    onObjects: request.onObjects,
  });
  return typeof text === "string" ? whole(text) : text;
}

function translationsOf({ layer, map }: ExportTarget, asked: ExportRequest["languages"]): Translations {
  const { languages } = map.project;
  const codes = new Set(layer.columns.map((column) => column.code));
  return { languages: asked ?? languages, others: asked === undefined, names: { languages, codes } };
}

async function* whole(text: string): AsyncGenerator<string, void> {
  yield text;
}
