import { DeleteObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import {
  FileMissing,
  isFileName,
  type NamedFile,
  type NamedFiles,
  requireFew,
  requireFileName,
} from "./named-files.js";
import { createS3Client, type S3Options, told } from "./s3-client.js";
import { isMissing } from "./s3-failure.js";
import { abortUploads, objectPages, openObject } from "./s3-object.js";
import { readObject } from "./s3-read.js";
import { type ObjectPlace, S3Uploads } from "./s3-upload.js";

/** Of files whose length nobody knows before: stores take 1,000 parts, or 10,000. */
const partBytes = 32 * 1024 ** 2;
/** Parts of what was begun longer ago are nobody's. */
const abandonedMs = 86_400_000;

/** Files as objects of an S3 store. All methods throw S3Failure when the store does not do what it is asked. */
export class S3NamedFiles implements NamedFiles {
  private readonly client: S3Client;
  private readonly uploads: S3Uploads;

  constructor(private readonly options: S3Options) {
    this.client = createS3Client(options);
    this.uploads = new S3Uploads(this.client, partBytes);
  }

  async folders(): Promise<string[]> {
    const listing = { ...this.under(""), Delimiter: "/" };
    const folders: string[] = [];
    for await (const { CommonPrefixes = [] } of objectPages(this.client, listing))
      for (const { Prefix } of CommonPrefixes) folders.push(Prefix!.slice(listing.Prefix.length, -1));
    return folders.filter(isFileName);
  }

  async list(folder: string): Promise<NamedFile[]> {
    const { prefix } = this.options.address;
    const files: NamedFile[] = [];
    for await (const { Contents = [] } of objectPages(this.client, this.under(folder)))
      for (const { Key, Size = 0, ETag } of Contents) {
        const name = Key!.slice(prefix.length);
        // Programs that show a store as folders make empty objects for them, whose names end with a slash.
        if (!isFileName(name)) continue;
        files.push({ name, bytes: Size, version: `${ETag} ${Size}` });
        requireFew(files);
      }
    return files;
  }

  async *read(name: string): AsyncGenerator<Uint8Array, void, undefined> {
    const place = this.place(name);
    try {
      // A reader may take long for a piece, as a program that restores a database does.
      const open = (first: number, last: number) =>
        openObject(this.client, place, { first, last, signal: undefined });
      yield* readObject(open, {});
    } catch (error) {
      throw isMissing(error) ? new FileMissing(name, { cause: error }) : error;
    }
  }

  async write(name: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    await this.uploads.put(this.place(name), chunksOf(content));
  }

  async remove(folder: string): Promise<void> {
    requireFileName(folder);
    for await (const { Contents = [] } of objectPages(this.client, this.under(folder)))
      for (const { Key } of Contents) {
        const command = new DeleteObjectCommand({ Bucket: this.options.address.bucket, Key });
        await told("DeleteObject", () => this.client.send(command));
      }
    await abortUploads(
      this.client,
      this.under(folder),
      (_, begun) => Date.now() - (begun?.getTime() ?? Date.now()) >= abandonedMs,
    );
  }

  /** Ends its connections. */
  close(): void {
    this.client.destroy();
  }

  private under(folder: string): { readonly Bucket: string; readonly Prefix: string } {
    const { bucket, prefix } = this.options.address;
    return { Bucket: bucket, Prefix: folder === "" ? prefix : `${prefix}${folder}/` };
  }

  private place(name: string): ObjectPlace {
    requireFileName(name);
    const { bucket, prefix } = this.options.address;
    return { Bucket: bucket, Key: `${prefix}${name}` };
  }
}

async function* chunksOf(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* content;
}
