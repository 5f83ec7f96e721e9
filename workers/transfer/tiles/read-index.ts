import { closeSync, openSync, readSync } from "node:fs";
import { decodeRecord, recordBytes, type TileRecord } from "../../../src/hosts/tile-index.js";

const batchRecords = 10_000;

/** The records of an index, of which some are in memory at a time. */
export function* readIndex(path: string): Generator<TileRecord, void> {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(batchRecords * recordBytes);
    for (let read = fill(file, bytes); read > 0; read = fill(file, bytes))
      for (let at = 0; at < read; at += recordBytes) yield decodeRecord(bytes, at);
  } finally {
    closeSync(file);
  }
}

/** Reads until the buffer is full or the file ends. @returns the number of bytes */
function fill(file: number, bytes: Buffer): number {
  let filled = 0;
  while (filled < bytes.length) {
    const read = readSync(file, bytes, filled, bytes.length - filled, null);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}
