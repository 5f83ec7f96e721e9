import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { AsyncBuffer, Compressors, FileMetaData } from "hyparquet";
import { parquetMetadataAsync } from "hyparquet";
import { compressors as others } from "hyparquet-compressors";
import { refused } from "../refusal.js";

/** Reads bytes of Parquet files, with bounds on what they claim. */

/** Maximum size of a part that is read at once: the compressed values of one column in a row group. */
const maxPartBytes = 512 * 1024 ** 2;
const maxPageBytes = 256 * 1024 ** 2;
const maxFooterBytes = 64 * 1024 ** 2;

export interface ParquetFile {
  readonly buffer: AsyncBuffer;
  readonly metadata: FileMetaData;
  close(): void;
}

/** @throws Refusal when the file is not Parquet */
export async function openParquet(path: string): Promise<ParquetFile> {
  const file = openSync(path, "r");
  try {
    const buffer = bufferOf(file);
    checkFooter(file, buffer.byteLength);
    const metadata = await readParquet(() => parquetMetadataAsync(buffer, { geoparquet: false }));
    return { buffer, metadata, close: () => closeSync(file) };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Calls the library; its errors are those of the file. */
export async function readParquet<T>(work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || error.name === "Refusal") throw error;
    throw refused(`The file cannot be read as Parquet: ${error.message.slice(0, 200)}.`);
  }
}

function checkFooter(file: number, size: number): void {
  const end = Buffer.alloc(8);
  if (size < 12 || readSync(file, end, 0, 8, size - 8) < 8 || end.toString("latin1", 4) !== "PAR1")
    throw refused("The file is not Parquet.");
  if (end.readUInt32LE(0) > Math.min(maxFooterBytes, size - 12)) throw refused("The file is damaged.");
}

const bufferOf = (file: number): AsyncBuffer => {
  const { size } = fstatSync(file);
  return {
    byteLength: size,
    slice: (start, end = size) => {
      const length = Math.min(end, size) - start;
      if (!(start >= 0 && length >= 0))
        throw refused("The file is damaged: it refers to places beyond its end.");
      if (length > maxPartBytes)
        throw refused(`A column in a row group is larger than ${maxPartBytes / 1024 ** 2} MB.`);
      const part = new ArrayBuffer(length);
      readSync(file, Buffer.from(part), 0, length, start);
      return part;
    },
  };
};

type Decompress = NonNullable<Compressors["GZIP"]>;

const bounded =
  (decompress: Decompress): Decompress =>
  (input, length) => {
    if (!(length >= 0 && length <= maxPageBytes))
      throw refused(`A page of the file is larger than ${maxPageBytes / 1024 ** 2} MB.`);
    return length === 0 ? new Uint8Array(0) : decompress(input, length);
  };

/** Node's own for GZIP and Brotli, which stop at the length that the page claims. */
export const compressors: Compressors = {
  GZIP: bounded((input, length) => gunzipSync(input, { maxOutputLength: length })),
  BROTLI: bounded((input, length) => brotliDecompressSync(input, { maxOutputLength: length })),
  SNAPPY: bounded(others.SNAPPY!),
  ZSTD: bounded(others.ZSTD!),
  LZ4: bounded(others.LZ4!),
  LZ4_RAW: bounded(others.LZ4_RAW!),
};
