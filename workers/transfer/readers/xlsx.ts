import { refused } from "../refusal.js";
import type { RowSink } from "../sink.js";
import { readXml, xmlText } from "../xml.js";
import { shown, ZipArchive } from "../zip-archive.js";
import { headOf } from "./file-head.js";
import type { Reader } from "./reader.js";
import { headerOf, sameHeader, TableRows } from "./table-rows.js";
import { readWorkbook, type SheetPart, type Workbook } from "./xlsx-parts.js";
import { type SheetCell, SheetHandler } from "./xlsx-sheet.js";

/**
 * Reads XLSX workbooks: the first visible sheet with data, whose first row below titles has the names of the columns, and the
 * visible sheets that have the same names. GDAL's reader loses seconds and the exactness of numbers.
 *
 * So do the packages: 12345678901234567890 is 12345678901234567000 to ExcelJS 4.4.0. Their memory has no bound either: a workbook
 * of 2 MB with 700 MB of shared texts takes ExcelJS 9 seconds and 0.8 GB, read-excel-file 9.3.17 fails at it with as much, and it
 * is refused here in 2 seconds with 0.2 GB. 100,000 rows take 4.5 seconds here, 7.7 by ExcelJS.
 */
export const readXlsx: Reader = async ({ path, sink, srs, budget, table: only }) => {
  requireXlsx(path);
  await ZipArchive.use(path, budget, async (zip) => {
    const workbook = await readWorkbook(zip);
    const table = new TableRows(sink, srs.isGiven);
    const others: SheetPart[] = [];
    for (const [place, sheet] of workbook.sheets.entries()) {
      const isWanted = only ? only.place === place : !sheet.isHidden;
      const isRead = isWanted && (await readSheet({ zip, workbook, sheet, table, sink }));
      sink.describe({ name: sheet.name, isRead });
      if (!isRead) others.push(sheet);
    }
    if (!table.header)
      throw refused(
        only ? `The sheet ${shown(only.name)} is empty.` : "The workbook has no visible sheet with data.",
      );
    table.end();
    if (!only && others.length > 0) sink.note(`Sheets that were not read: ${listed(others)}.`);
  });
};

/** Number of sheets that a message names. */
const listedSheets = 10;

function listed(sheets: readonly SheetPart[]): string {
  const names = sheets
    .slice(0, listedSheets)
    .map(({ name, isHidden }) => shown(name) + (isHidden ? " (hidden)" : ""));
  const more = sheets.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

interface SheetTask {
  readonly zip: ZipArchive;
  readonly workbook: Workbook;
  readonly sheet: SheetPart;
  readonly table: TableRows;
  readonly sink: RowSink;
}

/** @returns false when the sheet has no rows, or other columns than the table */
async function readSheet({ zip, workbook, sheet, table, sink }: SheetTask): Promise<boolean> {
  const { header } = table;
  let isFirst = true;
  const take = (cells: readonly SheetCell[]) => {
    if (isFirst && header && !sameHeader(header, headerOf(cells))) throw otherColumns;
    if (!isFirst || !header) table.add(cells);
    isFirst = false;
  };
  const handler = new SheetHandler(workbook, take);
  try {
    await readXml(xmlText(zip.read(sheet.file)), handler, async () => {
      if (sink.isFull) await sink.flush();
    });
  } catch (error) {
    if (error === otherColumns) return false;
    throw error;
  }
  table.endSheet();
  if (handler.errors > 0)
    sink.note(
      `${handler.errors} cells of the sheet ${shown(sheet.name)} have errors such as #N/A and were read as empty.`,
    );
  if (handler.hasMergedCells) sink.note("Merged cells have their value in the first of them only.");
  return !isFirst;
}

/** Ends the reading of a sheet. */
const otherColumns = new Error("The sheet has other columns.");

/** @throws Refusal */
export function requireXlsx(path: string): void {
  if (isCompound(path))
    throw refused(
      "The workbook is encrypted, or of a version before 2007: save it as .xlsx without a password.",
    );
}

/** Whether the file is of the older format of Office, in which encrypted workbooks are too. */
const isCompound = (path: string): boolean => headOf(path, 8).toString("hex") === "d0cf11e0a1b11ae1";
