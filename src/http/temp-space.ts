import { statfs } from "node:fs/promises";
import { busy } from "../errors.js";

/** The disk that uploaded files of a node take, bounded; and what stays free of it for the database and all others. */

/** Bytes, and time, after which the free space is looked at again. */
const checkedBytes = 16 * 1024 ** 2;
const checkedMs = 1_000;
/** On small disks not more than this part of them has to stay free. */
const freePart = 0.1;

export interface TempLimits {
  /** Of all temporary files of the node. */
  readonly bytes: number;
  /** Least free space of the disk. */
  readonly freeBytes: number;
}

export class TempSpace {
  private used = 0;
  private refusals = 0;
  private sinceCheck = Number.POSITIVE_INFINITY;
  private checkedAt = 0;

  constructor(
    private readonly folder: string,
    private readonly limits: TempLimits,
  ) {}

  counts(): { readonly bytes: number; readonly refused: number } {
    return { bytes: this.used, refused: this.refusals };
  }

  /**
   * Must be called before bytes are written; `give` gives them back.
   * @throws Failure busy
   */
  async take(bytes: number): Promise<void> {
    if (this.used + bytes > this.limits.bytes)
      throw this.refusal("The server is receiving as many files as it can hold.");
    this.used += bytes;
    try {
      await this.requireFree(bytes);
    } catch (error) {
      this.used -= bytes;
      throw error;
    }
  }

  give(bytes: number): void {
    this.used -= bytes;
  }

  private async requireFree(bytes: number): Promise<void> {
    this.sinceCheck += bytes;
    const now = performance.now();
    if (this.sinceCheck < checkedBytes && now - this.checkedAt < checkedMs) return;
    const { bavail, blocks, bsize } = await statfs(this.folder);
    const least = Math.min(this.limits.freeBytes, blocks * bsize * freePart);
    if (bavail * bsize - bytes < least) {
      // Looked at again by the next one.
      this.sinceCheck = Number.POSITIVE_INFINITY;
      throw this.refusal("There is not enough room on the server's disk for this file now.");
    }
    this.sinceCheck = 0;
    this.checkedAt = now;
  }

  private refusal(message: string) {
    this.refusals++;
    return busy(message, 30);
  }
}
