import { decimals, storedGeometry } from "../features/geometry-sql.js";
import { concat, literal } from "../features/sql.js";
import { type Check, checkedNotes } from "./export-checks.js";
import { type FileColumn, fileColumns, valueReads } from "./export-columns.js";
import type { ExportContent, ExportServices } from "./export-content.js";
import { columnList } from "./export-notes.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { objectTexts } from "./export-text.js";
import { hasMultiMembers } from "./flat-collections.js";
import {
  controlsCheck,
  elementName,
  elementNotes,
  numericTextsCheck,
  withoutControls,
  xmlValue,
} from "./xml-text.js";

/**
 * Writes layers as a GML 3.2 feature collection. EPSG:4326 is named by its URN, so that positions are lat, lon, as the
 * standard says. A null has no element, an empty text an empty one.
 */

const namespace = "urn:mapwright:layer";

export async function writeGml(
  { db }: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportContent> {
  const { columns, notes } = await fileColumns(db, target, request);
  const reads = [...valueReads(columns), "svc_id", `${storedGeometry(request.srid)} as g`];
  const found = await checkedNotes(db, target, request, {
    reads,
    checks: [controlsCheck(columns), numericTextsCheck(columns), spacesCheck(columns), ...geometryChecks],
  });
  const opening =
    `<?xml version="1.0" encoding="UTF-8"?>\n<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml/3.2" ` +
    `xmlns:mw="${namespace}" gml:id="layer">\n`;
  const chunks = await objectTexts(db, target, request, {
    reads,
    text: member(`mw:${elementName(target.layer.code)}`, columns, request.srid),
    opening,
    closing: "</gml:FeatureCollection>\n",
    rewrite: withoutControls,
  });
  const json = columns.filter(({ type }) => type === "json").map(({ name }) => name);
  return {
    files: [{ ending: ".gml", chunks }],
    notes: [
      ...notes,
      ...found,
      ...(json.length > 0 ? [`JSON is text, since GML has no such type: ${columnList(json)}.`] : []),
      ...elementNotes(columns),
    ],
  };
}

function member(element: string, columns: readonly FileColumn[], srid: 4326 | 3857): string {
  const values = columns.map((column) => {
    const name = `mw:${elementName(column.name)}`;
    return `'<${name}>'||${xmlValue(column)}||'</${name}>'`;
  });
  return concat([
    literal(`<gml:featureMember><${element} gml:id="f`),
    "svc_id",
    `'">'`,
    ...values,
    `'<mw:geom>'||${geometry(srid)}||'</mw:geom>'`,
    String.raw`E'</${element}></gml:featureMember>\n'`,
  ]);
}

// ST_AsGML gives the members of a multi geometry the id of the whole, but ids are unique in a file.
const multis = [
  ["ST_MultiPoint", "MultiPoint", "pointMember"],
  ["ST_MultiLineString", "MultiCurve", "curveMember"],
  ["ST_MultiPolygon", "MultiSurface", "surfaceMember"],
  ["ST_GeometryCollection", "MultiGeometry", "geometryMember"],
] as const;

function geometry(srid: 4326 | 3857): string {
  // 1 = URN of the reference system, 2 = no srsDimension, 4 = LineString instead of Curve, 16 = lat, lon
  const options = (srid === 4326 ? 16 : 0) + 1 + 4;
  const single = (geom: string, id: string) =>
    `st_asgml(3,${geom},${decimals[srid]},case st_zmflag(${geom}) when 2 then ${options} else ${options + 2} end,'gml',${id})`;
  const opening = (element: string) =>
    `'<gml:${element} srsName="urn:ogc:def:crs:EPSG::${srid}" gml:id="g'||svc_id||'"'`;
  const several = multis.map(([type, element, part]) => {
    const members =
      `(select string_agg('<gml:${part}>'||${single("d.geom", `concat('g',svc_id,'.',array_to_string(d.path,'.'))`)}||` +
      `'</gml:${part}>','' order by d.path) from st_dump(g) d)`;
    return `when '${type}' then ${opening(element)}||'>'||${members}||'</gml:${element}>'`;
  });
  return (
    `case when st_isempty(g) then ${opening("MultiGeometry")}||'/>' ` +
    `else case st_geometrytype(g) ${several.join(" ")} else ${single("g", "'g'||svc_id")} end end`
  );
}

const spacesCheck = (columns: readonly FileColumn[]): Check => ({
  says: "Readers may take empty texts for no value, and leave out the white space that texts begin with",
  columns: new Map(
    columns.filter(({ isText }) => isText).map(({ name, alias }) => [name, `${alias} ~ '^(\\s|$)'`]),
  ),
});

const geometryChecks: readonly Check[] = [
  {
    says: "Empty geometries are written as an empty MultiGeometry, without their kind",
    objects: "st_isempty(g)",
  },
  {
    says: "Geometry collections are written without the multi geometries and collections in them, but with all of their parts",
    objects: hasMultiMembers("g"),
  },
];
