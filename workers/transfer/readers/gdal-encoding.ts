import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { detectFileEncoding } from "../detect-encoding.js";
import { encodingOf, encodingOfLanguageId } from "../encodings.js";

/**
 * The encoding of texts in files that GDAL reads, where GDAL alone would take another one: for files that do not name it, and
 * for those that say UTF-8 and are not.
 */

const headerBytes = 65_536;

/** @returns a label of `TextDecoder`, which GDAL knows too; undefined when GDAL finds the encoding by itself */
export function fileEncoding(driver: string, path: string): string | undefined {
  if (driver === "ESRI Shapefile") return tableEncoding(path.replace(/\.\w+$/, ".dbf"));
  return driver === "DXF" ? drawingEncoding(path) : undefined;
}

/** Of a DBF file, by the `.cpg` beside it, by its language id, or by its bytes. */
function tableEncoding(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const named = codePageFile(path.replace(/dbf$/, "cpg"));
  const header = head(path, headerBytes);
  if (header.length < 33) return undefined;
  const id = header[29]!;
  const declared = named === undefined ? encodingOfLanguageId(id) : encodingOf(named);
  // Code pages that only GDAL knows. The id 0x57 means the code page of some Windows.
  if (declared === undefined && (named !== undefined || (id !== 0 && id !== 0x57))) return undefined;
  return isSure(declared) ? declared : detectFileEncoding(path, header.readUInt16LE(8), columnNames(header));
}

/** The names in a DBF header, each in 11 of the 32 bytes that describe a column. */
function columnNames(header: Buffer): Buffer {
  const names: Buffer[] = [];
  for (let at = 32; at + 32 <= header.length && header[at] !== 0x0d; at += 32) {
    const name = header.subarray(at, at + 11);
    const length = name.indexOf(0);
    names.push(length < 0 ? name : name.subarray(0, length), Buffer.from(" "));
  }
  return Buffer.concat(names);
}

function codePageFile(path: string): string | undefined {
  if (!existsSync(path) || statSync(path).size > 1000) return undefined;
  return readFileSync(path, "latin1").trim() || undefined;
}

/** Of a DXF file: UTF-8 since AutoCAD 2007, before that the code page of its header. */
function drawingEncoding(path: string): string | undefined {
  const header = head(path, headerBytes).toString("latin1");
  if (header.startsWith("AutoCAD Binary DXF")) return undefined;
  const value = (name: string) => new RegExp(`\\$${name}\\s+\\d+\\s+([^\\r\\n]+)`).exec(header)?.[1]?.trim();
  const version = /^AC(\d{4})/.exec(value("ACADVER") ?? "")?.[1];
  if (Number(version) >= 1021) return detectFileEncoding(path);
  const named = value("DWGCODEPAGE");
  const declared = named === undefined ? undefined : encodingOf(named);
  if (named !== undefined && declared === undefined) return undefined;
  return isSure(declared) ? declared : detectFileEncoding(path);
}

/** Whether to believe what a file says of itself: programs write UTF-8 into headers of files that are not. */
const isSure = (declared: string | undefined): boolean => declared !== undefined && declared !== "utf-8";

function head(path: string, bytes: number): Buffer {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(bytes);
    return buffer.subarray(0, readSync(file, buffer, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}
