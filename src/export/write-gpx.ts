import { started } from "../features/read.js";
import { concat } from "../features/sql.js";
import { type Check, checkedNotes } from "./export-checks.js";
import { type FileColumn, fileColumns, titleColumn, valueReads } from "./export-columns.js";
import type { Chunks, ExportContent, ExportServices } from "./export-content.js";
import { degreesNotes, type ExportRequest, type ExportTarget, layerTitle } from "./export-request.js";
import { objectTexts } from "./export-text.js";
import {
  controlsCheck,
  elementName,
  elementNotes,
  escapeXml,
  numericTextsCheck,
  withoutControls,
  xmlText,
  xmlValue,
} from "./xml-text.js";

/**
 * Writes layers as GPX 1.1: points as waypoints, lines as tracks with a segment for each part. Values are in extensions, by
 * the names that GDAL reads them by. Other geometry cannot be held.
 */

export async function writeGpx(
  { db }: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportContent> {
  const { columns, notes } = await fileColumns(db, target, request);
  const reads = [...valueReads(columns), "geom as g"];
  const found = await checkedNotes(db, target, request, {
    reads,
    checks: [...geometryChecks, ...[controlsCheck(columns), numericTextsCheck(columns)].map(ofWritten)],
  });
  const read = (where: string, text: string, opening: string, closing: string) =>
    objectTexts(db, target, request, { reads, text, where, opening, closing, rewrite: withoutControls });
  const title = escapeXml(layerTitle(target, request) || target.layer.code);
  const opening =
    '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="Mapwright" ' +
    'xmlns="http://www.topografix.com/GPX/1/1" xmlns:ogr="http://osgeo.org/gdal">' +
    `<metadata><name>${title}</name></metadata>\n`;
  // The format wants all waypoints before the first track.
  const chunks = await started(
    inTurn([
      () => read(isPoint("geom"), waypoints(columns), opening, ""),
      () => read(isLine("geom"), track(columns), "", "</gpx>\n"),
    ]),
  );
  return {
    files: [{ ending: ".gpx", chunks }],
    notes: [...notes, ...found, ...elementNotes(columns), ...degreesNotes(request)],
  };
}

async function* inTurn(parts: readonly (() => Promise<Chunks>)[]): AsyncGenerator<string | Uint8Array, void> {
  for (const part of parts) yield* await part();
}

const isPoint = (g: string) =>
  `st_geometrytype(${g}) in ('ST_Point','ST_MultiPoint') and not st_isempty(${g})`;
const isLine = (g: string) =>
  `st_geometrytype(${g}) in ('ST_LineString','ST_MultiLineString') and not st_isempty(${g})`;

const isWritten = `(${isPoint("g")} or ${isLine("g")})`;

/** The check, without the objects that are left out. */
const ofWritten = ({ says, columns = new Map() }: Check): Check => ({
  says,
  columns: new Map([...columns].map(([name, condition]) => [name, `(${condition}) and ${isWritten}`])),
});

const geometryChecks: readonly Check[] = [
  {
    says: "Only points and lines can be held; other objects, and those without geometry, are left out",
    objects: `${isWritten} is not true`,
  },
  {
    says: "Multipoints become one waypoint for each of their points",
    objects: "st_geometrytype(g)='ST_MultiPoint' and not st_isempty(g)",
  },
  {
    says: "Longitudes lie between -180 and 180 degrees; those beyond are written as the same place within",
    objects: `${isWritten} and (st_xmin(g)<-180 or st_xmax(g)>=180)`,
  },
];

/** SQL of a number as xsd:decimal, which has no exponents. */
const decimal = (value: string): string =>
  `case when abs(${value})<1e-4 or abs(${value})>=1e15 then ${value}::text::numeric::text else ${value}::text end`;

/** SQL of an element with the position of the point `p.geom`; `content` follows the height. */
function position(element: string, content: string): string {
  const x = "st_x(p.geom)";
  const longitude = `(case when ${x}>=180 or ${x}<-180 then ${x}-360*floor((${x}+180)/360) else ${x} end)`;
  return concat([
    `'<${element} lat="'`,
    decimal("st_y(p.geom)"),
    `'" lon="'`,
    decimal(longitude),
    `'">'`,
    `'<ele>'||${decimal("st_z(p.geom)")}||'</ele>'`,
    content,
    `'</${element}>'`,
  ]);
}

function described(columns: readonly FileColumn[]): string {
  const title = titleColumn(columns);
  const values = columns.map((column) => {
    const name = `ogr:${elementName(column.name)}`;
    return `'<${name}>'||${xmlValue(column)}||'</${name}>'`;
  });
  return concat([
    ...(title ? [`'<name>'||${xmlText(`nullif(${title.alias},'')`)}||'</name>'`] : []),
    "'<extensions>'",
    ...values,
    "'</extensions>'",
  ]);
}

const waypoints = (columns: readonly FileColumn[]): string =>
  `(select string_agg(${position("wpt", described(columns))},'' order by p.path) from st_dumppoints(g) p)||E'\\n'`;

const track = (columns: readonly FileColumn[]): string =>
  concat([
    "'<trk>'",
    described(columns),
    "(select string_agg('<trkseg>'||" +
      `(select string_agg(${position("trkpt", "''")},'' order by p.path) from st_dumppoints(s.geom) p)||` +
      "'</trkseg>','' order by s.path) from st_dump(g) s)",
    String.raw`E'</trk>\n'`,
  ]);
