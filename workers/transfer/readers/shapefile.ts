import { closeSync, existsSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import gdal from "gdal-async";
import { readProjectionFile } from "../projection-file.js";
import { refused } from "../refusal.js";
import { referenceFrom } from "../srs.js";
import { newReference } from "../srs-objects.js";
import { deletedRowsOf, rowsOf } from "./dbase-rows.js";
import { readGdal } from "./gdal.js";
import type { Reader } from "./reader.js";

/** A shapefile. Its table, its index and its spatial reference may be missing. */
export const readShapefile: Reader = async (task) => {
  const { path, sink, srs } = task;
  const beside = (extension: string) => path.slice(0, -3) + extension;
  const table = beside("dbf");
  if (!existsSync(table))
    sink.note("A shapefile came without its .dbf, so that its objects have geometry only.");
  else if (rowsOf(table) === 0) {
    // GDAL reads as many features as the table has rows.
    rmSync(table);
    sink.note("The .dbf of a shapefile has no rows, so that its objects have geometry only.");
  }
  if (!srs.isGiven) requireKnownReference(beside("prj"));
  const shapes = new Shapes(path, beside("shx"));
  try {
    await readGdal("ESRI Shapefile", {
      hasGeometry: (fid) => shapes.has(fid),
      deleted: () => deletedRowsOf(table),
    })(task);
  } finally {
    shapes.close();
  }
};

/**
 * Writes the reference anew, as UTF-8 and in the notation that GDAL reads from a .prj. It takes a file whose reference it
 * cannot read for one in degrees.
 * @throws Refusal
 */
function requireKnownReference(prj: string): void {
  if (!existsSync(prj)) return;
  const text = readProjectionFile(prj);
  if (text === "") return;
  const known = text && (isOfEsri(text) ? text : wktOf(text));
  if (!known)
    throw refused("The coordinate system in the .prj of the shapefile cannot be read. Name it by srs.");
  writeFileSync(prj, known);
}

function isOfEsri(text: string): boolean {
  try {
    newReference(() => gdal.SpatialReference.fromESRI(text.split(/\r?\n/)));
    return true;
  } catch {
    return false;
  }
}

/** WKT 1 of another notation, such as WKT 2; undefined when it is not known. */
function wktOf(text: string): string | undefined {
  try {
    return referenceFrom(text).toWKT();
  } catch {
    return undefined;
  }
}

/** The records of an .shp, by its index. GDAL gives no geometry for those that it cannot read, and for empty ones. */
class Shapes {
  private readonly files: { shp?: number; shx?: number } = {};

  constructor(
    private readonly shp: string,
    private readonly shx: string,
  ) {}

  /** Whether the record has a shape of any kind, or cannot be found. */
  has(index: number): boolean {
    // GDAL makes an index that is missing when it opens the file.
    this.files.shp ??= openSync(this.shp, "r");
    this.files.shx ??= openSync(this.shx, "r");
    const { shp, shx } = this.files;
    const bytes = Buffer.alloc(4);
    if (readSync(shx, bytes, 0, 4, 100 + 8 * index) < 4) return false;
    const record = 2 * bytes.readInt32BE(0);
    return readSync(shp, bytes, 0, 4, record + 8) < 4 || bytes.readInt32LE(0) !== 0;
  }

  close(): void {
    for (const file of [this.files.shp, this.files.shx]) if (file !== undefined) closeSync(file);
  }
}
