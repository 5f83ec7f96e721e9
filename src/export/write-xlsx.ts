import { failed } from "../errors.js";
import { decimals, storedGeometry } from "../features/geometry-sql.js";
import { rowsStatement } from "../features/list.js";
import { readBatches, started } from "../features/read.js";
import { concat, literal } from "../features/sql.js";
import { type Check, checkedNotes } from "./export-checks.js";
import { type FileColumn, fileColumns, valueReads } from "./export-columns.js";
import type { ExportContent, ExportServices } from "./export-content.js";
import { columnList } from "./export-notes.js";
import { type ExportRequest, type ExportTarget, layerTitle } from "./export-request.js";
import { selectionOf } from "./export-survey.js";
import { isFormulaLike } from "./formula-like.js";
import { columnLetters, maxColumns, rowsPerSheet, workbook } from "./workbook.js";
import { geometryColumn, systemNotes } from "./write-csv.js";
import { xmlText } from "./xml-text.js";
import { zipped } from "./zip.js";

/**
 * Writes layers as a workbook (Office Open XML, .xlsx). Texts are inline strings, which are never formulas; those that look like
 * one have the style that keeps them text when somebody edits the cell. A null has no content, an empty text an empty string.
 */

/** In UTF-16 code units. */
const maxCellLength = 32_767;

export async function writeXlsx(
  { db }: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportContent> {
  const { columns, notes } = await fileColumns(db, target, request);
  const names = [...columns.map(({ name }) => name), geometryColumn(columns)];
  if (names.length > maxColumns)
    throw failed("invalid_value", `A sheet has ${maxColumns} columns at most: choose some by fields.`, {
      parameter: "fields",
    });
  const reads = [...valueReads(columns), `${storedGeometry(request.srid)} as g`];
  const found = await checkedNotes(db, target, request, { reads, checks: checksOf(columns, request) });
  const wkt = `case when st_npoints(g)<${safePoints} or length(${asWkt(request)})<=${maxCellLength} then ${asWkt(request)} end`;
  const cells = [...columns.map(cell), inlineString(columns.length, wkt)];
  const batches = await started(
    readBatches(db, {
      statement: rowsStatement(target.layer, selectionOf(target, request), {
        reads,
        // Row 1 has the names.
        number: `((row_number() over ()-1)%${rowsPerSheet}+2)::text`,
        text: concat([`'<row r="'`, "n", `'">'`, ...cells, "'</row>'"]),
      }),
      signal: request.signal,
      onObjects: request.onObjects,
    }),
  );
  const title = layerTitle(target, request) || target.layer.code;
  const dates = columns.filter(({ type }) => type === "datetime").map(({ name }) => name);
  return {
    files: [{ ending: ".xlsx", chunks: zipped(workbook({ title, names, batches })) }],
    notes: [...notes, ...found, ...dateNotes(dates), ...systemNotes(request)],
  };
}

const dateNotes = (names: readonly string[]): readonly string[] =>
  names.length > 0
    ? [
        `Dates are texts in ISO 8601, since those of a workbook have neither a time zone nor microseconds: ${columnList(names)}.`,
      ]
    : [];

const asWkt = ({ srid }: ExportRequest): string => `st_astext(g,${decimals[srid]})`;
/** Geometries of fewer points have WKT that fits, at 75 characters for a position with height. */
const safePoints = 400;

// A character beyond the Basic Multilingual Plane has two code units, and four bytes in UTF-8.
const isLong = (text: string) => `octet_length(${text})>${maxCellLength}`;
const pairs = (text: string) => String.raw`length(regexp_replace(${text},'[^\U00010000-\U0010ffff]','','g'))`;

const checksOf = (columns: readonly FileColumn[], request: ExportRequest): readonly Check[] => [
  {
    says: `Texts are cut to ${maxCellLength} characters`,
    columns: new Map(
      columns
        .filter(mayBeLong)
        .map(({ name, alias }) => [
          name,
          `${isLong(alias)} and length(${alias})+${pairs(alias)}>${maxCellLength}`,
        ]),
    ),
  },
  {
    says: `Geometries of more than ${maxCellLength} characters are left out`,
    objects: `st_npoints(g)>=${safePoints} and length(${asWkt(request)})>${maxCellLength}`,
  },
];

const mayBeLong = ({ isText, type }: FileColumn): boolean => isText || type === "json" || type === "file";

function cell(column: FileColumn, index: number): string {
  const { alias, isText, type } = column;
  if (type === "bool")
    return element(index, ' t="b"', `'<v>'||case ${alias} when 'true' then 1 else 0 end||'</v>'`, alias);
  if (type === "number" || type === "id") return element(index, "", `'<v>'||${alias}||'</v>'`);
  if (!mayBeLong(column)) return inlineString(index, alias);
  // Half of the length fits in any case; of the other characters each pair takes the room of two.
  const fitting = `greatest(${Math.floor(maxCellLength / 2)},${maxCellLength}-${pairs(`left(${alias},${maxCellLength})`)})`;
  const long = `left(${alias},${fitting})`;
  const escaped = escapedText(`case when ${isLong(alias)} then ${long} else ${alias} end`);
  if (!isText) return inlineString(index, escaped);
  return inlineString(index, escaped, `case when ${isFormulaLike(alias)} then ' s="1"' else '' end`);
}

/** `_x0041_` in a text would be read as the character of that code. */
const escapedText = (text: string): string =>
  xmlText(
    `(select case when strpos(t,'_x')>0 then regexp_replace(t,'_(?=x[0-9A-Fa-f]{4}_)','_x005F_','g') else t end ` +
      `from (select ${text} as t offset 0) one)`,
  );

const inlineString = (index: number, content: string, style = "''"): string =>
  `${literal(`<c r="${columnLetters(index)}`)}||n||'" t="inlineStr"'||${style}||` +
  `'><is><t xml:space="preserve">'||${content}||'</t></is></c>'`;

const element = (index: number, attributes: string, content: string, present?: string): string => {
  const sql = `${literal(`<c r="${columnLetters(index)}`)}||n||'"${attributes}>'||${content}||'</c>'`;
  return present ? `case when ${present} is not null then ${sql} end` : sql;
};
