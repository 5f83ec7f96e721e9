import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { withLargeStream } from "./compound-file.js";
import { readGdal } from "./gdal.js";
import type { Reader } from "./reader.js";

const readWorkbook = readGdal("XLS");

/** Workbooks as Excel wrote them until 2003. */
export const readXls: Reader = async (task) => {
  const large = withLargeStream(task.path, ["Workbook", "Book"]);
  if (!large) return readWorkbook(task);
  const path = join(dirname(task.path), "workbook-of-small.xls");
  writeFileSync(path, large);
  return readWorkbook({ ...task, path });
};
