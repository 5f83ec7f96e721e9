import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { withLargeStream } from "./compound-file.js";
import { headOf } from "./file-head.js";
import { readGdal } from "./gdal.js";
import type { Reader } from "./reader.js";
import { readXlsx } from "./xlsx.js";

const readWorkbook = readGdal("XLS");

/** Workbooks as Excel wrote them until 2003, and later ones with the old ending, as some programs name them. */
export const readXls: Reader = async (task) => {
  if (headOf(task.path, 2).toString("latin1") === "PK") return readXlsx(task);
  const large = withLargeStream(task.path, ["Workbook", "Book"]);
  if (!large) return readWorkbook(task);
  const path = join(dirname(task.path), "workbook-of-small.xls");
  writeFileSync(path, large);
  return readWorkbook({ ...task, path });
};
