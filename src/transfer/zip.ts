import { Readable } from "node:stream";
import { ZipFile } from "yazl";

/**
 * Streams a zip archive with one file, which may exceed 4 GiB; memory use does not depend on its length. A caller that does
 * not read to the end must call `return`, which also calls `return` of the source.
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
  // A reader gets the error from the iterator; without a listener the event would end the process before it reads.
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
