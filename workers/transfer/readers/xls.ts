import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { withLargeStream } from "./compound-file.js";
import { headOf } from "./file-head.js";
import { readGdal } from "./gdal.js";
import { findGdalTables } from "./gdal-tables.js";
import type { FindTables, Reader } from "./reader.js";
import { readXlsx } from "./xlsx.js";
import { findSheets } from "./xlsx-tables.js";

const readWorkbook = readGdal("XLS");

/** The file that GDAL reads: it needs one large stream. */
function readablePath(path: string): string {
  const large = withLargeStream(path, ["Workbook", "Book"]);
  if (!large) return path;
  const other = join(dirname(path), "workbook-of-small.xls");
  writeFileSync(other, large);
  return other;
}

const isXlsx = (path: string): boolean => headOf(path, 2).toString("latin1") === "PK";

/** Workbooks as Excel wrote them until 2003, and later ones with the old ending, as some programs name them. */
export const readXls: Reader = async (task) => {
  if (isXlsx(task.path)) return readXlsx(task);
  return readWorkbook({ ...task, path: readablePath(task.path) });
};

const findTables = findGdalTables("XLS");

export const findXlsSheets: FindTables = async (task) =>
  isXlsx(task.path) ? findSheets(task) : findTables({ ...task, path: readablePath(task.path) });
