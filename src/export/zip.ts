import { Readable } from "node:stream";
import { ZipFile } from "yazl";
import type { Chunks } from "./export-content.js";

export interface ZipEntry {
  /** The file's path in the archive. */
  readonly name: string;
  readonly chunks: Chunks;
}

/**
 * Streams a zip archive, whose files may exceed 4 GiB; memory use does not depend on their length. Each entry is asked for
 * when the one before it is complete. A caller that does not read to the end must call `return`, which also calls `return`
 * of the current source and of `entries`.
 */
export function zipped(
  entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>,
): AsyncIterableIterator<Uint8Array> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let source: Readable | undefined;
  const fail = (error: Error) => output.destroy(error);
  // A reader gets the error from the iterator; without a listener the event would end the process before it reads.
  output.on("error", () => undefined);
  zip.on("error", fail);
  const fill = async () => {
    for await (const { name, chunks } of entries) {
      const current = Readable.from(chunks, { objectMode: false });
      source = current;
      if (output.destroyed) current.destroy();
      const closed = new Promise<void>((resolve) => current.once("close", resolve));
      current.on("error", fail);
      zip.addReadStream(current, name, { mtime: new Date() });
      await closed;
      if (output.destroyed) return;
    }
    zip.end();
  };
  void fill().catch(fail);
  const parts = output[Symbol.asyncIterator]() as AsyncIterableIterator<Uint8Array>;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => parts.next(),
    async return() {
      output.destroy();
      source?.destroy();
      return { done: true, value: undefined };
    },
  };
}
