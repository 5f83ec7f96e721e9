import { closeSync, openSync, readSync } from "node:fs";
import { detectEncoding } from "./detect-encoding.js";

const mostBytes = 64 * 1024;

/** The text of a .prj file, whatever its encoding; undefined when it is too long for one. */
export function readProjectionFile(path: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(mostBytes + 1);
    const read = readSync(file, bytes, 0, bytes.length, 0);
    if (read > mostBytes) return undefined;
    const text = bytes.subarray(0, read);
    return new TextDecoder(detectEncoding(text)).decode(text).replace(/[\s\0]+$/, "");
  } finally {
    closeSync(file);
  }
}
