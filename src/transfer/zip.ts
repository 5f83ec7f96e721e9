import { Readable } from "node:stream";
import { ZipFile } from "yazl";

/**
 * A zip archive with one file, as it is made: memory does not depend on the file's length, which may exceed 4 GiB.
 * Who stops reading, or never begins, calls `return`, and the source's is called.
 * @param name the file's name in the archive
 */
export function zipped(
  name: string,
  chunks: AsyncIterable<string | Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  const source = Readable.from(chunks, { objectMode: false });
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const fail = (error: Error) => output.destroy(error);
  // Whoever reads is told, also later; with nobody reading yet the event would end the process.
  output.on("error", () => undefined);
  source.on("error", fail);
  zip.on("error", fail);
  zip.addReadStream(source, name, { mtime: new Date() });
  zip.end();
  const parts = output[Symbol.asyncIterator]() as AsyncIterableIterator<Uint8Array>;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => parts.next(),
    async return() {
      source.destroy();
      output.destroy();
      return { done: true, value: undefined };
    },
  };
}
