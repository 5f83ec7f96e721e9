import { closeSync, openSync, readSync } from "node:fs";

/** The first bytes of a file. */
export function headOf(path: string, most: number): Buffer {
  const bytes = Buffer.alloc(most);
  const file = openSync(path, "r");
  try {
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}
