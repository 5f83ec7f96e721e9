import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { refused } from "../refusal.js";
import { deletedRowsOf, rowsOf } from "./dbase-rows.js";
import { readGdal } from "./gdal.js";
import { type Described, ownDecoder } from "./mapinfo-encoding.js";
import type { Reader, ReadTask } from "./reader.js";

/** Reads tables of MapInfo. */

async function read(task: ReadTask, described: Described): Promise<void> {
  const decode = await ownDecoder(described, task.encoding);
  // GDAL ends a table early, and counts accordingly, where its files contradict each other.
  const count =
    described.kind === "tab"
      ? () => (rowsOf(described.data) ?? 0) - deletedRowsOf(described.data)
      : undefined;
  await readGdal("MapInfo File", { decode, count, hasParts: described.kind === "tab" })(task);
}

/** Bound on the text of a .tab; a thousand columns need a tenth of it. */
const maxTabBytes = 1024 ** 2;

/** A table with its `.dat` or `.dbf`, `.map` and `.id`. Tables that only refer to other files are refused. */
export const readTab: Reader = async (task) => {
  const { path, sink } = task;
  const stem = path.slice(0, -3);
  checkDefinition(tabText(path));
  if (!existsSync(`${stem}dat`) && !existsSync(`${stem}dbf`))
    throw refused("A MapInfo table consists of files .tab, .dat, .map and .id; the .dat is missing.");
  if (!existsSync(`${stem}map`))
    sink.note("A MapInfo table came without its .map, so that its objects have no geometry.");
  else if (!existsSync(`${stem}id`))
    throw refused("A MapInfo table consists of files .tab, .dat, .map and .id; the .id is missing.");
  const data = existsSync(`${stem}dat`) ? `${stem}dat` : `${stem}dbf`;
  await read(task, { path, data, kind: "tab" });
};

/** Geometry as text with its values in `.mid`. */
export const readMif: Reader = async (task) => {
  const { path, sink } = task;
  if (!existsSync(`${path.slice(0, -3)}mid`))
    sink.note("A .mif came without its .mid, so that its objects have geometry only.");
  await read(task, { path, data: `${path.slice(0, -3)}mid`, kind: "mif" });
};

function tabText(path: string): string {
  const bytes = Buffer.alloc(maxTabBytes + 1);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, bytes);
    if (length > maxTabBytes) throw refused(`The .tab is larger than ${maxTabBytes / 1024 ** 2} MB.`);
    return bytes.toString("latin1", 0, length);
  } finally {
    closeSync(file);
  }
}

/** @throws Refusal unless the table has data of its own: views, seamless tables and rasters name other files */
function checkDefinition(text: string): void {
  if (!/^\s*!table\b/i.test(text)) throw refused("The .tab is not a table of MapInfo.");
  const type = /^\s*type\s+(\w+)/im.exec(text)?.[1]?.toUpperCase();
  const refersToOthers = /create\s+view|open\s+table|\\IsSeamless"\s*=\s*"TRUE"|^\s*(file|raster)\s+"/im.test(
    text,
  );
  if (refersToOthers || (type !== "NATIVE" && type !== "DBF"))
    throw refused("The .tab has no data of its own but refers to other files, which are not opened.");
}
