import { decimals } from "../features/geometry-sql.js";
import { concat, literal } from "../features/sql.js";
import { type Check, checkedNotes } from "./export-checks.js";
import { type FileColumn, fileColumns, titleColumn, valueReads } from "./export-columns.js";
import type { ExportContent, ExportServices } from "./export-content.js";
import { columnList } from "./export-notes.js";
import { degreesNotes, type ExportRequest, type ExportTarget, layerTitle } from "./export-request.js";
import { objectTexts } from "./export-text.js";
import { hasMultiMembers } from "./flat-collections.js";
import { controlsCheck, escapeXml, withoutControls, xmlText, xmlValue } from "./xml-text.js";
import { zipped } from "./zip.js";

/**
 * Writes layers as KML 2.2: all values as SimpleData, the geometry as it is stored. A null has no SimpleData, an empty text
 * an empty one.
 */

export async function writeKml(
  { db }: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportContent> {
  const { columns, notes } = await fileColumns(db, target, request);
  const reads = [...valueReads(columns), "geom as g"];
  const checks = [controlsCheck(columns), ...geometryChecks];
  const found = await checkedNotes(db, target, request, { reads, checks });
  const title = escapeXml(layerTitle(target, request) || target.layer.code);
  const opening =
    '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>' +
    `<name>${title}</name><Schema name="${title}" id="layer">${columns.map(schemaField).join("")}</Schema>\n`;
  const chunks = await objectTexts(db, target, request, {
    reads,
    text: placemark(columns),
    opening,
    closing: "</Document></kml>\n",
    rewrite: withoutControls,
  });
  return {
    files: [{ ending: ".kml", chunks }],
    notes: [...notes, ...found, ...textNotes(columns), ...degreesNotes(request)],
  };
}

/** A KMZ file: the KML as doc.kml in a zip archive. */
export async function writeKmz(
  services: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportContent> {
  const { files, notes } = await writeKml(services, target, request);
  const [{ chunks }] = files;
  return { files: [{ ending: ".kmz", chunks: zipped([{ name: "doc.kml", chunks }]) }], notes };
}

function textNotes(columns: readonly FileColumn[]): readonly string[] {
  const names = columns.filter(({ type }) => type === "datetime" || type === "json").map(({ name }) => name);
  return names.length > 0
    ? [`Dates and JSON are texts, since KML has no such types: ${columnList(names)}.`]
    : [];
}

// An id may exceed the 32 bits of "int"; a double holds it exactly.
const schemaTypes: Readonly<Partial<Record<FileColumn["type"], string>>> = {
  id: "double",
  number: "double",
  bool: "bool",
};

const schemaField = ({ name, type }: FileColumn): string =>
  `<SimpleField type="${schemaTypes[type] ?? "string"}" name="${escapeXml(name)}"/>`;

function placemark(columns: readonly FileColumn[]): string {
  const title = titleColumn(columns);
  const values = columns.map((column) => {
    // GDAL reads a "bool" that is written as true as false.
    const value =
      column.type === "bool" ? `case ${column.alias} when 'true' then 1 else 0 end` : xmlValue(column);
    const element = `${literal(`<SimpleData name="${escapeXml(column.name)}">`)}||${value}||'</SimpleData>'`;
    return column.type === "bool" ? `case when ${column.alias} is not null then ${element} end` : element;
  });
  return concat([
    "'<Placemark>'",
    ...(title ? [`'<name>'||${xmlText(`nullif(${title.alias},'')`)}||'</name>'`] : []),
    `'<ExtendedData><SchemaData schemaUrl="#layer">'`,
    ...values,
    "'</SchemaData></ExtendedData>'",
    geometry,
    String.raw`E'</Placemark>\n'`,
  ]);
}

const asKml = (geom: string): string => `st_askml(${geom},${decimals[4326]})`;

// ST_AsKML refuses collections. Heights are ignored without an altitude mode.
const flat =
  `case when st_isempty(g) then '<MultiGeometry/>' when st_geometrytype(g)='ST_GeometryCollection' then ` +
  `(select '<MultiGeometry>'||string_agg(${asKml("d.geom")},'' order by d.path)||'</MultiGeometry>' from st_dump(g) d) ` +
  `else ${asKml("g")} end`;
const withAltitudes = ["Point", "LineString", "Polygon"].reduce(
  (kml, element) => `replace(${kml},'<${element}>','<${element}><altitudeMode>absolute</altitudeMode>')`,
  flat,
);
const geometry = `case when st_zmflag(g)=2 then ${withAltitudes} else ${flat} end`;

const geometryChecks: readonly Check[] = [
  {
    says:
      "Longitudes beyond 180 degrees are kept as they are, so that what crosses the antimeridian stays in one piece; " +
      "viewers go on around the world with them",
    objects: "st_xmin(g)<-180 or st_xmax(g)>180",
  },
  {
    says: "Empty geometries are written as an empty MultiGeometry, without their kind",
    objects: "st_isempty(g)",
  },
  {
    says: "Geometry collections are written without the multi geometries and collections in them, but with all of their parts",
    objects: hasMultiMembers("g"),
  },
];
