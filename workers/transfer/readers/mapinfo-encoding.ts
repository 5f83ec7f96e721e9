import { isUtf8 } from "node:buffer";
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  openSync,
  readSync,
  renameSync,
} from "node:fs";
import { pipeline } from "node:stream/promises";
import { detectFileEncoding } from "../detect-encoding.js";

/**
 * The encoding of MapInfo's texts where the file does not name it ("Neutral"), or the request does. GDAL has no option for it,
 * so that it is told that the texts are ISO 8859-1, which keeps every byte, and they are decoded here.
 */

/** Of the definition at the beginning of a file. */
const headBytes = 65_536;

/** A file with a definition, and the file whose texts it defines. */
export interface Described {
  readonly path: string;
  readonly data: string;
  readonly kind: "mif" | "tab";
}

/** @returns the texts' decoder, for which the definition was rewritten; undefined when GDAL's own is right */
export async function ownDecoder(
  { path, data, kind }: Described,
  requested: string | undefined,
): Promise<((text: string) => string) | undefined> {
  const head = headOf(path);
  const declared = /^[ \t]*!?charset[ \t]+"?([^"\s]+)/im.exec(head)?.[1] ?? "Neutral";
  const isNeutral = declared.toLowerCase() === "neutral";
  if (requested === undefined && (!isNeutral || !existsSync(data))) return undefined;
  const start = kind === "tab" ? Buffer.from(headOf(data), "latin1").readUInt16LE(8) : 0;
  const label = requested ?? detectFileEncoding(data, start, Buffer.from(head, "latin1"));
  // Bytes that GDAL leaves as they are, are UTF-8. Names of columns may be cut within a character.
  if (isNeutral && label === "utf-8" && isUtf8(Buffer.from(head, "latin1"))) return undefined;
  await rewrite(path, head);
  const decoder = new TextDecoder(label);
  return (text) => {
    const bytes = Buffer.from(text, "latin1");
    // Names that are no UTF-8 stay as they are, since U+FFFD would make different ones the same.
    return label === "utf-8" && !isUtf8(bytes) ? text : decoder.decode(bytes);
  };
}

function headOf(path: string): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(headBytes);
    return bytes.toString("latin1", 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** Replaces the file by one that names ISO 8859-1. The file may be a link to one of the user's, which stays as it is. */
async function rewrite(path: string, head: string): Promise<void> {
  const named = head.replace(/^([ \t]*!?charset[ \t]+)\S+/im, '$1"ISO8859_1"');
  const isTab = /^\s*!table/i.test(head);
  const line = isTab ? "!charset ISO8859_1" : 'Charset "ISO8859_1"';
  const withLine = named === head ? head.replace(/^(\s*!?version.*\r?\n)/im, `$1${line}\n`) : named;
  const text = isTab
    ? withLine
        .replace(/^!charset .*$/im, line)
        .replace(/^([ \t]*type[ \t]+\w+[ \t]+charset[ \t]+)"[^"]*"/im, '$1"ISO8859_1"')
    : withLine;
  const copy = `${path}.copy`;
  async function* content() {
    yield Buffer.from(text, "latin1");
    yield* createReadStream(path, { start: Buffer.byteLength(head, "latin1") });
  }
  await pipeline(content, createWriteStream(copy, { flags: "wx", mode: 0o600 }));
  renameSync(copy, path);
}
