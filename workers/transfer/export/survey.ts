import type pg from "pg";
import type { ExportedType, ExportFileRequest, FileFormat } from "../../../src/hosts/export-messages.js";
import { type GeometryTypeName, geometryTypeNames } from "./flatgeobuf.js";

/** What has to be known of all objects before the first of them is written. */

export interface Survey {
  readonly geometries: readonly SurveyedGeometries[];
  /** West, south, east, north in the reference system of the file, for formats that need it; absent without geometry. */
  readonly extent?: Extent;
  /** Lowest and highest, for formats that need them; absent without heights. */
  readonly heights?: readonly [lowest: number, highest: number];
  /** By the index of the column. */
  readonly columns: readonly SurveyedColumn[];
}

export type Extent = readonly [west: number, south: number, east: number, north: number];

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

/** Reads it in the transaction of the export. */
export async function surveyObjects(client: pg.Client, request: ExportFileRequest): Promise<Survey> {
  return {
    geometries: await surveyGeometries(client, request),
    ...(await surveyValues(client, request)),
  };
}

async function surveyGeometries(
  client: pg.Client,
  { source }: ExportFileRequest,
): Promise<SurveyedGeometries[]> {
  const { rows } = await client.query<{ type: string; z: boolean; count: number }>(
    "select type, z, count(*)::float8 as count from " +
      `(select geometrytype(g) as type, st_zmflag(g) >= 2 as z from (${source.text}) s where g is not null) t ` +
      "group by type, z",
    [...source.values],
  );
  return rows.map(({ type, z, count }) => {
    const name = geometryTypeNames.find((one) => one.toUpperCase() === type);
    if (!name) throw new Error(`A layer has geometry of the type ${type}.`);
    return { type: name, hasZ: z, count };
  });
}

async function surveyValues(
  client: pg.Client,
  { source, columns, format }: ExportFileRequest,
): Promise<Omit<Survey, "geometries">> {
  const measured = columns.map(({ type }, index) => measureSql(format, type, `v${index}`));
  const asked = measured.flatMap((sql, index) => (sql ? [`${sql} as m${index}`] : []));
  if (format === "tab" || format === "parquet") asked.push(`${extentSql} as extent`);
  if (format === "parquet") asked.push(`${heightsSql} as heights`);
  if (asked.length === 0) return { columns: columns.map(() => unmeasured) };
  const { rows } = await client.query<Record<string, unknown>>(
    `select ${asked.join(",")} from (${source.text}) s`,
    [...source.values],
  );
  const row = rows[0]!;
  const [west, south, east, north] = (row.extent as (number | null)[] | undefined) ?? [];
  const [lowest, highest] = (row.heights as (number | null)[] | undefined) ?? [];
  return {
    columns: measured.map((sql, index) =>
      sql ? { ...unmeasured, ...(row[`m${index}`] as Partial<SurveyedColumn>) } : unmeasured,
    ),
    // The box of empty geometries is null.
    ...(typeof west === "number" ? { extent: [west, south!, east!, north!] as const } : {}),
    ...(typeof lowest === "number" ? { heights: [lowest, highest!] as const } : {}),
  };
}

const unmeasured: SurveyedColumn = { bytes: 0, characters: 0, digits: 0, decimals: 0, fraction: 0 };

const extentSql = `json_build_array(${["st_xmin", "st_ymin", "st_xmax", "st_ymax"]
  .map((side) => `${side}(st_extent(g))`)
  .join(",")})`;

const heightsSql = `json_build_array(${["min(st_zmin(g))", "max(st_zmax(g))"]
  .map((height) => `${height} filter (where st_zmflag(g) >= 2)`)
  .join(",")})`;

/** SQL of members of SurveyedColumn as JSON; undefined if the format needs none. */
function measureSql(format: FileFormat, type: ExportedType, value: string): string | undefined {
  if (format === "fgb" || format === "parquet") return undefined;
  const most = (members: Readonly<Record<string, string>>) =>
    `json_build_object(${Object.entries(members)
      .map(([name, sql]) => `'${name}',coalesce(max(${sql}),0)`)
      .join(",")})`;
  if (format === "gpkg")
    return type === "datetime"
      ? most({ fraction: `length(substring(${value} from '\\.(\\d+)'))` })
      : undefined;
  if (type === "number") {
    if (format === "tab") return undefined;
    // The text of a double is the shortest that is exact.
    const finite = `${value} between -1.7976931348623157e308 and 1.7976931348623157e308`;
    const decimal = `case when ${finite} then ${value}::text::numeric end`;
    return most({ digits: `length(trunc(abs(${decimal}))::text)`, decimals: `scale(${decimal})` });
  }
  return type === "bool"
    ? undefined
    : most({ bytes: `octet_length(${value})`, characters: `length(${value})` });
}
