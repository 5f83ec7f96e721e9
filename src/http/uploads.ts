import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeAbandoned } from "../storage/abandoned-files.js";
import type { TempSpace } from "./temp-space.js";
import type { UploadedFile } from "./types.js";

/** Temporary files of one request, with random names, removed after the response. */

const prefix = "upload-";

export class TempFiles {
  private readonly paths: string[] = [];
  private bytes = 0;

  /** @param hashes whether to compute a hash of the content of each file */
  constructor(
    private readonly folder: string,
    private readonly space: TempSpace,
    private readonly hashes: boolean,
  ) {}

  /**
   * Writes chunks to a new file, with backpressure.
   * @param clientName file name from the client; never part of a path
   */
  async store(chunks: AsyncIterable<Uint8Array>, clientName: string): Promise<UploadedFile> {
    const file = await this.open(clientName);
    try {
      for await (const chunk of chunks) await file.write(chunk);
    } finally {
      await file.close();
    }
    return file;
  }

  /** A new file that grows with each `write`. */
  async open(clientName: string): Promise<GrowingFile> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, `${prefix}${randomBytes(12).toString("hex")}`);
    this.paths.push(path);
    const handle = await open(path, "wx", 0o600);
    const hash = this.hashes ? createHash("sha256") : undefined;
    const take = async (bytes: number) => {
      await this.space.take(bytes);
      this.bytes += bytes;
    };
    const file: GrowingFile = {
      path,
      clientName,
      bytes: 0,
      async write(chunk) {
        await take(chunk.length);
        hash?.update(chunk);
        for (let offset = 0; offset < chunk.length; ) {
          offset += (await handle.write(chunk, offset)).bytesWritten;
        }
        file.bytes += chunk.length;
      },
      close: () => {
        file.sha256 ??= hash?.digest("base64url");
        return handle.close();
      },
    };
    return file;
  }

  /** Whether there are no files to remove. */
  get empty(): boolean {
    return this.paths.length === 0;
  }

  /** Removes all files, also if some are missing. @throws the error of the first that cannot be removed, after all others */
  async remove(): Promise<void> {
    const { bytes } = this;
    this.bytes = 0;
    const removed = await Promise.allSettled(this.paths.splice(0).map((path) => rm(path, { force: true })));
    this.space.give(bytes);
    const failed = removed.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }
}

export interface GrowingFile extends UploadedFile {
  bytes: number;
  sha256?: string | undefined;
  write(chunk: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** Removes files that a killed server left behind. */
export const sweepUploads = (folder: string): Promise<void> => removeAbandoned(folder, prefix);
