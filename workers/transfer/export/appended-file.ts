import { type FileHandle, open } from "node:fs/promises";
import { allOrNone } from "../../../src/all-or-none.js";

/** A new file that is written from front to back, while its writer prepares what follows. */
export class AppendedFile {
  /** Bytes that were handed over. */
  length = 0;
  private writing: Promise<void> = Promise.resolve();

  private constructor(private readonly handle: FileHandle) {}

  static async create(path: string): Promise<AppendedFile> {
    return new AppendedFile(await open(path, "wx", 0o600));
  }

  /** Several that belong together. */
  static createAll(paths: readonly string[]): Promise<AppendedFile[]> {
    return allOrNone(paths.map(AppendedFile.create), (file) => file.abandon());
  }

  /** Resolves when the bytes before these are written: no more than two pieces are in memory. The file owns the bytes. */
  async append(bytes: Buffer): Promise<void> {
    await this.writing;
    const position = this.length;
    this.length += bytes.length;
    this.writing = this.write(bytes, position);
    // The next call throws it.
    this.writing.catch(() => undefined);
  }

  /** Replaces the file's beginning and closes it. */
  async close(beginning: Buffer = Buffer.alloc(0)): Promise<void> {
    await this.writing;
    await this.write(beginning, 0);
    await this.handle.close();
  }

  /** Closes the file as it is, after what is being written. Never rejects. */
  async abandon(): Promise<void> {
    await this.writing.catch(() => undefined);
    await this.handle.close().catch(() => undefined);
  }

  private async write(bytes: Buffer, position: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.handle.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  }
}
