import { decimals, storedGeometry } from "../features/geometry-sql.js";
import { concat, literal } from "../features/sql.js";
import { csvEncoding } from "./csv-encoding.js";
import { checkedNotes } from "./export-checks.js";
import { type FileColumn, fileColumns, valueReads } from "./export-columns.js";
import type { ExportContent, ExportServices } from "./export-content.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { objectTexts } from "./export-text.js";
import { isFormulaLike } from "./formula-like.js";

/**
 * Writes layers as CSV (RFC 4180: lines end in CRLF). Texts, JSON and the geometry are always in quotes, numbers, dates, true and
 * false never, so that readers can tell the text "12" from the number 12, and empty text ("") from null (nothing). A text that a
 * spreadsheet would take for a formula gets an apostrophe in front of it (see formula-like.ts).
 */

export const csvDialects = { semicolon: ";", comma: ",", tab: "\t" } as const;
export type CsvDialect = keyof typeof csvDialects;

export async function writeCsv(
  { db }: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportContent> {
  const { charset, lacking, encode } = csvEncoding(request.encoding ?? "");
  const separator = csvDialects[request.dialect ?? "semicolon"];
  const { columns, notes } = await fileColumns(db, target, request);
  const reads = valueReads(columns);
  const unencodable = lacking
    ? await checkedNotes(db, target, request, {
        reads,
        checks: [
          {
            says: `Characters that ${charset} lacks are written as "?"`,
            columns: new Map(
              columns
                .filter(isQuoted)
                .map(({ name, alias }) => [name, `${alias} ~ ${literal(lacking)}`] as const),
            ),
          },
        ],
      })
    : [];
  const chunks = await objectTexts(db, target, request, {
    ...csvRows(columns, separator, { sql: storedGeometry(request.srid), digits: decimals[request.srid] }),
    closing: "",
  });
  return {
    files: [{ ending: ".csv", chunks: encode(chunks) }],
    notes: [...notes, ...unencodable, ...systemNotes(request)],
    charset,
  };
}

/** Rows of CSV, and the line of their names. @param geometry SQL of the geometry, with its decimals; absent = no column for it */
export function csvRows(
  columns: readonly FileColumn[],
  separator: string,
  geometry?: { readonly sql: string; readonly digits: number },
): { readonly reads: string[]; readonly text: string; readonly opening: string } {
  const cells = [...columns.map(cell), ...(geometry ? [`'"'||st_astext(g,${geometry.digits})||'"'`] : [])];
  const parts = cells.flatMap((sql, index) => (index === 0 ? [sql] : [literal(separator), sql]));
  const names = [...columns.map(({ name }) => name), ...(geometry ? [geometryColumn(columns)] : [])];
  return {
    reads: [...valueReads(columns), ...(geometry ? [`${geometry.sql} as g`] : [])],
    text: concat([...parts, String.raw`E'\r\n'`]),
    opening: `${names.map(headerCell).join(separator)}\r\n`,
  };
}

/** The name of the column with the geometry as WKT. No column of a layer has the code `geom`. */
export const geometryColumn = (columns: readonly FileColumn[]): string =>
  columns.some(({ name }) => name.toLowerCase() === "wkt") ? "geom" : "wkt";

/** Notes on the reference system, for formats that cannot name it. */
export const systemNotes = ({ srid }: ExportRequest): readonly string[] =>
  srid === 3857
    ? ["The format does not name the reference system of the geometry: it is EPSG:3857, in metres."]
    : [];

const isQuoted = ({ isText, type }: FileColumn): boolean => isText || type === "json" || type === "file";

function cell(column: FileColumn): string {
  const { alias, isText } = column;
  if (!isQuoted(column)) return alias;
  const text = `replace(${alias},'"','""')`;
  return isText
    ? `'"'||case when ${isFormulaLike(alias)} then '''' else '' end||${text}||'"'`
    : `'"'||${text}||'"'`;
}

const headerCell = (name: string): string =>
  /^[\w:.-]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
