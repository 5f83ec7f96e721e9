import type pg from "pg";
import type { ExportedType, ExportFileRequest, FileFormat } from "../../../src/hosts/export-messages.js";
import { type GeometryTypeName, geometryTypeNames } from "./flatgeobuf.js";

/** What has to be known of all objects before the first of them is written. */

export interface Survey {
  readonly geometries: readonly SurveyedGeometries[];
  /** West, south, east, north in the reference system of the file, for formats that need it; absent without geometry. */
  readonly extent?: Extent;
  /** Lowest and highest, for formats that need them; absent without heights. */
  readonly heights?: Heights;
  /** By the index of the column. */
  readonly columns: readonly SurveyedColumn[];
}

export type Extent = readonly [west: number, south: number, east: number, north: number];

type Heights = readonly [lowest: number, highest: number];

/** Geometries of one type, with or without heights. */
interface SurveyedGeometries {
  readonly type: GeometryTypeName;
  readonly hasZ: boolean;
  readonly count: number;
}

/** The longest of a column's values, as far as the format needs it; 0 without values. */
export interface SurveyedColumn {
  /** Of a text in UTF-8. */
  readonly bytes: number;
  readonly characters: number;
  /** Digits of a number before and after the point, in its shortest exact notation. */
  readonly digits: number;
  readonly decimals: number;
  /** Digits of a time's fraction of a second. */
  readonly fraction: number;
}

/** Reads it in the transaction of the export, in one pass over the objects. */
export async function surveyObjects(
  client: pg.Client,
  { source, columns, format }: ExportFileRequest,
): Promise<Survey> {
  const measured = columns.flatMap(({ type }, index) => measures(format, type, index));
  const extent = format === "tab" || format === "parquet" ? [`${extentSql} as extent`] : [];
  const heights = format === "parquet" ? [`${heightsSql} as heights`] : [];
  const asked = [
    "geometrytype(g) as type",
    "st_zmflag(g) >= 2 as z",
    "count(*)::float8 as count",
    ...measured.map(({ sql, alias }) => `${sql} as ${alias}`),
    ...extent,
    ...heights,
  ];
  const { rows } = await client.query<SurveyRow>(
    `select ${asked.join(",")} from (${source.text}) s group by 1, 2`,
    [...source.values],
  );
  const surveyed: Record<keyof SurveyedColumn, number>[] = columns.map(() => ({ ...unmeasured }));
  for (const { column, member, alias } of measured)
    for (const row of rows)
      surveyed[column]![member] = Math.max(surveyed[column]![member], Number(row[alias] ?? 0));
  const boxes = rows.flatMap((row) => (typeof row.extent?.[0] === "number" ? [row.extent as Extent] : []));
  const ranges = rows.flatMap(({ z, heights: range }) =>
    z && typeof range?.[0] === "number" ? [range as Heights] : [],
  );
  return {
    geometries: rows.flatMap(({ type, z, count }) =>
      type === null ? [] : [{ type: typeName(type), hasZ: z === true, count }],
    ),
    columns: surveyed,
    // The box of empty geometries is null.
    ...(boxes.length > 0 ? { extent: around(boxes) } : {}),
    ...(ranges.length > 0
      ? {
          heights: [
            Math.min(...ranges.map(([low]) => low)),
            Math.max(...ranges.map(([, high]) => high)),
          ] as const,
        }
      : {}),
  };
}

/** Of the objects of one type of geometry. */
interface SurveyRow {
  /** null = no geometry. */
  readonly type: string | null;
  readonly z: boolean | null;
  readonly count: number;
  readonly extent?: readonly (number | null)[];
  readonly heights?: readonly (number | null)[];
  readonly [alias: string]: unknown;
}

function typeName(type: string): GeometryTypeName {
  const name = geometryTypeNames.find((one) => one.toUpperCase() === type);
  if (!name) throw new Error(`A layer has geometry of the type ${type}.`);
  return name;
}

const around = (boxes: readonly Extent[]): Extent => [
  Math.min(...boxes.map(([west]) => west)),
  Math.min(...boxes.map(([, south]) => south)),
  Math.max(...boxes.map(([, , east]) => east)),
  Math.max(...boxes.map(([, , , north]) => north)),
];

const unmeasured: SurveyedColumn = { bytes: 0, characters: 0, digits: 0, decimals: 0, fraction: 0 };

const extentSql = `json_build_array(${["st_xmin", "st_ymin", "st_xmax", "st_ymax"]
  .map((side) => `${side}(st_extent(g))`)
  .join(",")})`;

const heightsSql = "json_build_array(min(st_zmin(g)),max(st_zmax(g)))";

interface Measure {
  /** Index of the column. */
  readonly column: number;
  readonly member: keyof SurveyedColumn;
  /** An aggregate. */
  readonly sql: string;
  readonly alias: string;
}

/** What the format needs to know of a column. */
function measures(format: FileFormat, type: ExportedType, column: number): Measure[] {
  const value = `v${column}`;
  const measured = measureSql(format, type, value);
  return Object.entries(measured).map(([member, sql]) => ({
    column,
    member: member as keyof SurveyedColumn,
    sql,
    alias: `${member}_${column}`,
  }));
}

function measureSql(
  format: FileFormat,
  type: ExportedType,
  value: string,
): Partial<Record<keyof SurveyedColumn, string>> {
  if (format === "fgb" || format === "parquet") return {};
  if (format === "gpkg")
    return type === "datetime" ? { fraction: `max(length(substring(${value} from '\\.(\\d+)')))` } : {};
  if (type === "number") {
    if (format === "tab") return {};
    const finite = `${value} between -1.7976931348623157e308 and 1.7976931348623157e308`;
    // The text of a double is the shortest that is exact. Whole numbers, of which there are many, need none.
    return {
      digits: `length(trunc(max(abs(${value})) filter (where ${finite})::text::numeric)::text)`,
      decimals: `max(case when ${value} <> trunc(${value}) then scale(${value}::text::numeric) end) filter (where ${finite})`,
    };
  }
  return type === "bool" ? {} : { bytes: `max(octet_length(${value}))`, characters: `max(length(${value}))` };
}
