import { constants, createGzip, type Gzip, gzipSync, type ZlibReset } from "node:zlib";

// Level 6 takes four times as long for 4 % less.
const level = 1;
/**
 * Bytes that are compressed at once: they take one to two milliseconds. Handing them to another thread and back takes half as
 * much CPU time again, so only more bytes, which would hold others up, are handed over.
 */
const mostAtOnce = 128 * 1024;

/** Compresses by gzip. Compressors of large parts are kept, as many as were needed at once. */
export class Compressors {
  private readonly idle: Compressor[] = [];

  /** The parts, one after the other, compressed; in a buffer of its own. */
  async compress(parts: readonly Uint8Array[]): Promise<Uint8Array> {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (length <= mostAtOnce) {
      const [first] = parts;
      const whole = first && parts.length === 1 ? first : joined(parts, length);
      // `gzipSync` gives a view of a larger buffer.
      return new Uint8Array(gzipSync(whole, { level }));
    }
    const compressor = this.idle.pop() ?? new Compressor();
    const bytes = await compressor.compress(parts);
    this.idle.push(compressor);
    return bytes;
  }
}

/**
 * Compresses one thing after the other, on another thread. It keeps its quarter of a megabyte of tables: if they were made for
 * each tile, the garbage collector would take more time than the compression.
 */
class Compressor {
  private readonly gzip: Gzip = createGzip({ level, chunkSize: 64 * 1024 });
  private chunks: Buffer[] = [];

  constructor() {
    this.gzip.on("data", (chunk: Buffer) => this.chunks.push(chunk));
  }

  /** Must not be called before the last call ended. */
  async compress(parts: readonly Uint8Array[]): Promise<Uint8Array> {
    await new Promise<void>((resolve, reject) => {
      this.gzip.once("error", reject);
      for (const part of parts) this.gzip.write(part);
      this.gzip.flush(constants.Z_FINISH, () => {
        this.gzip.off("error", reject);
        resolve();
      });
    });
    const { chunks } = this;
    this.chunks = [];
    // The type lacks it.
    (this.gzip as Gzip & ZlibReset).reset();
    return joined(
      chunks,
      chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    );
  }
}

/** In a buffer of its own. */
function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
