import type { Column } from "../catalog/state.js";
import { jsonValue, type Languages, readableJson } from "./column-sql.js";
import { type GeometryShape, geometryJson, type Srid } from "./geometry-sql.js";
import { concat, literal, type Values } from "./sql.js";
import { otherTranslations, type Translations, translatedValues } from "./translations.js";

/** Which parts of an object are returned, and how. */
export interface ObjectShape {
  /** Columns in `fields`; undefined = no `fields`. */
  readonly fields: readonly Column[] | undefined;
  readonly geom?: GeometryShape | undefined;
  /** Adds the object's bounding box in this reference system. */
  readonly bbox?: Srid | undefined;
  /** `own` selects the language of localised values. */
  readonly languages: Languages;
  /** Localised values fall back to another language when `languages.own` has none. */
  readonly readable?: boolean;
  /** One property per language for localised columns, instead of one value. */
  readonly translations?: Translations | undefined;
  /** Further members of an item, the same for each. */
  readonly members?: Readonly<Record<string, string | number>>;
}

/** SQL of an object as JSON text, for a row of its layer's table. */
export function objectJson(shape: ObjectShape, values: Values): string {
  const parts = [`'{"id":'`, "svc_id"];
  if (shape.fields) parts.push(`',"fields":'`, fieldsJson(shape.fields, shape, values));
  if (shape.geom) parts.push(`',"geom":'`, geometryJson(shape.geom));
  if (shape.bbox) parts.push(`',"bbox":'`, boxJson(shape.bbox, "contract"));
  for (const [name, value] of Object.entries(shape.members ?? {}))
    parts.push(literal(`,${JSON.stringify(name)}:${JSON.stringify(value)}`));
  parts.push("'}'");
  return concat(parts);
}

/** SQL of an object as a GeoJSON Feature (RFC 7946); its properties always include svc_id. */
export function featureJson(shape: ObjectShape, values: Values): string {
  const fields = shape.fields ?? [];
  const parts = [`'{"type":"Feature","id":'`, "svc_id"];
  if (shape.bbox) parts.push(`',"bbox":'`, boxJson(shape.bbox, "geojson"));
  parts.push(`',"geometry":'`, geometryJson(shape.geom ?? { srid: 4326 }));
  const listed = fields.filter((column) => column.code !== "svc_id");
  const inner = listed.length > 0 ? fieldsJson(listed, shape, values, ",") : `'}'`;
  parts.push(`',"properties":{"svc_id":'`, "svc_id", inner, "'}'");
  return concat(parts);
}

/** SQL of a JSON object of values. `opening` "," continues an object; the closing brace is always written. */
function fieldsJson(
  columns: readonly Column[],
  { languages, readable, translations }: Omit<ObjectShape, "fields">,
  values: Values,
  opening: "{" | "," = "{",
): string {
  if (columns.length === 0) return "'{}'";
  const parts: string[] = [];
  const add = (name: string, json: string) => {
    const before = parts.length === 0 ? opening : ",";
    parts.push(literal(`${before}${JSON.stringify(name)}:`), json);
  };
  const json = (column: Column) =>
    readable ? readableJson(column, languages, values) : jsonValue(column, languages.own, values);
  for (const column of columns) {
    if (!translations || !column.localizedValue) add(column.code, json(column));
    else {
      for (const [name, value] of translatedValues(column, translations)) add(name, value);
      if (translations.others) parts.push(otherTranslations(column, translations));
    }
  }
  parts.push("'}'");
  return concat(parts);
}

// Latitudes are clamped as in to_mercator() of the migrations.
const mercatorY = (latitude: string): string =>
  `6378137*ln(tan(pi()/4+radians(least(greatest(${latitude},-85.06),85.06))/2))`;
const mercatorX = (longitude: string): string => `6378137*radians(${longitude})`;

/** SQL of an object's bounding box as JSON text: `{sw: [lat, lon], ne: [lat, lon]}` of the API, or GeoJSON's [west, south, east, north]. */
function boxJson(srid: Srid, form: "contract" | "geojson"): string {
  const x = srid === 3857 ? mercatorX : (value: string) => value;
  const y = srid === 3857 ? mercatorY : (value: string) => value;
  const [west, south, east, north] = [x("st_xmin(b)"), y("st_ymin(b)"), x("st_xmax(b)"), y("st_ymax(b)")];
  const text =
    form === "contract"
      ? concat([`'{"sw":['`, south, "','", west, `'],"ne":['`, north, "','", east, "']}'"])
      : concat(["'['", west, "','", south, "','", east, "','", north, "']'"]);
  // OFFSET 0 prevents the planner from computing the box once per corner.
  return `(select case when b is null then 'null' else ${text} end from (select box3d(geom) as b offset 0) box)`;
}

/** Physical columns that the SQL of `shape` reads. */
export function columnsRead(shape: ObjectShape): string[] {
  const names = ["svc_id", ...(shape.fields ?? []).map((column) => column.physical)];
  if (shape.bbox || shape.geom) names.push("geom", "geom_3857");
  return [...new Set(names)];
}
