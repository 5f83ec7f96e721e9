import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { clientOwners } from "../queues/clients.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { removeQuietly } from "../remove-quietly.js";
import { BlobNotFound, type BlobStore, isUuid, type ReadOptions } from "./blob-store.js";
import { LocalCopies } from "./local-copies.js";
import { type BriefOptions, BriefRequests } from "./s3-brief.js";
import { createS3Client, mostConnections, type S3Options, told } from "./s3-client.js";
import { type Copied, copyObject } from "./s3-copy.js";
import { isMissing, noLength } from "./s3-failure.js";
import { abortUploads, objectPages, openObject } from "./s3-object.js";
import { type IdleOptions, readObject } from "./s3-read.js";
import { type ObjectPlace, S3Uploads } from "./s3-upload.js";

const asideFolder = "aside/";
/** Far longer than a request is sent again. */
const keptAsideMs = 600_000;
const markName = "installation";
/** Other installations may have their files below a prefix. */
const ownName = /^([0-9a-f]{2}|aside)\/[0-9a-f-]{36}$/;

/** Reads that may wait for a connection, and how long. */
const mostWaiting = 10_000;
const waitMs = 60_000;

/** A connection among those of all downloads. */
interface Turns {
  /** @returns gives it back */
  take(): Promise<() => void>;
  /** Whether others wait for one. */
  isCrowded(): boolean;
}

export interface S3StoreOptions extends S3Options, IdleOptions, BriefOptions {
  /** Folder for the copies of all processes of this machine, and how many bytes each process keeps there. */
  readonly copies: { readonly folder: string; readonly bytes: number };
  /** Size of the parts that large blobs are sent in, and copied in. Servers want 5 MiB at least. */
  readonly partBytes?: number | undefined;
  readonly copyPartBytes?: number | undefined;
  /** How long what is put back lies aside, too, after it was set aside. Default: ten minutes. */
  readonly keptAsideMs?: number | undefined;
}

/**
 * Blobs as objects of an S3 store, under the names that the files of a folder have: `<prefix><xx>/<uuid>`, those set aside under
 * `<prefix>aside/`. So a folder is moved into a store, and back, by a program that copies files.
 * All methods throw S3Failure when the store does not do what it is asked.
 */
export class S3BlobStore implements BlobStore {
  private readonly client: S3Client;
  private readonly uploads: S3Uploads;
  private readonly copies: LocalCopies;
  private readonly brief: BriefRequests;
  /** Connections of downloads. The other half is for tiles, uploads and what is asked briefly, which none of them may hold up. */
  private readonly downloads = new FairSemaphore({
    permits: mostConnections / 2,
    kept: mostConnections / 16,
    mostWaiting,
    timeoutMs: waitMs,
    refusal: "Too many files are being read.",
  });
  private readonly bucket: string;
  private readonly prefix: string;

  constructor(private readonly options: S3StoreOptions) {
    const { copies, address, partBytes } = options;
    this.bucket = address.bucket;
    this.prefix = address.prefix;
    this.client = createS3Client(options);
    this.uploads = new S3Uploads(this.client, partBytes);
    this.brief = new BriefRequests(options.briefMs);
    this.copies = new LocalCopies(copies.folder, copies.bytes, {
      size: (key) => this.brief.call("HeadObject", (abortSignal) => this.size(key, abortSignal)),
      read: (key) => this.pieces(key),
    });
  }

  async put(source: string | AsyncIterable<Uint8Array>, key: string = randomUUID()): Promise<string> {
    await this.uploads.put(this.blob(key), source);
    if (typeof source === "string") await removeQuietly(source);
    return key;
  }

  async size(key: string, abortSignal?: AbortSignal): Promise<number> {
    const command = new HeadObjectCommand(this.blob(key));
    const send = () => this.client.send(command, { ...(abortSignal && { abortSignal }) });
    const { ContentLength } = await told("HeadObject", send).catch(notFound(key));
    if (ContentLength === undefined) throw noLength("HeadObject");
    return ContentLength;
  }

  read(key: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const { reader = "", signal } = options;
    const { downloads } = this;
    return this.pieces(key, options, {
      take: () => downloads.acquire({ owners: clientOwners(reader), ...(signal && { signal }) }),
      isCrowded: () => downloads.waiting > 0,
    });
  }

  /** @param turns undefined = it needs none */
  private async *pieces(
    key: string,
    options: ReadOptions = {},
    turns?: Turns,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { idleMs } = this.options;
    const { signal } = options;
    const place = this.blob(key);
    const ask = (first: number, last: number) =>
      this.brief
        .call("GetObject", (late) =>
          openObject(this.client, place, {
            first,
            last,
            signal: signal ? AbortSignal.any([signal, late]) : late,
          }),
        )
        .catch(notFound(key));
    const open = async (first: number, last: number) => {
      const giveBack = await turns?.take();
      let body: Readable | undefined;
      try {
        const content = await ask(first, last);
        body = content?.body;
        return content;
      } finally {
        if (body && !body.closed) body.once("close", () => giveBack?.());
        else giveBack?.();
      }
    };
    yield* readObject(open, {
      ...options,
      idleMs,
      silenceMs: this.brief.ms,
      isCrowded: turns?.isCrowded,
    });
  }

  async delete(key: string): Promise<void> {
    await this.remove(this.blob(key));
    await this.copies.forget(key);
  }

  async setAside(key: string): Promise<void> {
    await this.move(this.blob(key), this.asideBlob(key));
    await this.copies.forget(key);
  }

  async putBack(key: string): Promise<void> {
    const aside = this.asideBlob(key);
    const copied = await this.copy(aside, this.blob(key));
    // Who has just set it aside may be about to delete the blob, by a request that is sent again: then it is put back once more.
    if (copied && ageOf(copied.modified) >= (this.options.keptAsideMs ?? keptAsideMs))
      await this.remove(aside);
  }

  deleteAside(key: string): Promise<void> {
    return this.remove(this.asideBlob(key));
  }

  aside(ageMs: number): AsyncGenerator<string[], void, undefined> {
    return this.list(asideFolder, ageMs, (name) => name);
  }

  olderThan(ageMs: number): AsyncGenerator<string[], void, undefined> {
    return this.list("", ageMs, (name) => (name[2] === "/" ? name.slice(3) : ""));
  }

  /** Parts of blobs that nobody has completed. No put takes as long as `ageMs`. */
  async removeParts(ageMs: number): Promise<void> {
    await abortUploads(
      this.client,
      { Bucket: this.bucket, Prefix: this.prefix },
      (name, begun) => ageOf(begun) >= ageMs && ownName.test(name),
    );
  }

  async mark(): Promise<string | undefined> {
    const command = new GetObjectCommand(this.place(markName));
    const content = async (abortSignal: AbortSignal) => {
      const { Body } = await this.client.send(command, { abortSignal });
      return Body!.transformToString("latin1");
    };
    const text = await this.brief
      .call("GetObject", (abortSignal) => told("GetObject", () => content(abortSignal)))
      .catch((error: unknown) => {
        if (isMissing(error)) return "";
        throw error;
      });
    return isUuid(text.trim()) ? text.trim() : undefined;
  }

  async setMark(installation: string): Promise<void> {
    const command = new PutObjectCommand({ ...this.place(markName), Body: `${installation}\n` });
    await told("PutObject", () => this.client.send(command));
  }

  /** A copy that this machine keeps for a while. */
  async withLocalCopy<T>(key: string, use: (path: string) => Promise<T>): Promise<T> {
    this.blob(key);
    return this.copies.with(key, use);
  }

  /** Ends its connections. */
  close(): void {
    this.client.destroy();
  }

  /** Where there is nothing to be moved, nothing happens. What ends in between is done again by the next request. */
  private async move(from: ObjectPlace, to: ObjectPlace): Promise<void> {
    if (await this.copy(from, to)) await this.remove(from);
  }

  /** @returns undefined = there is nothing */
  private async copy(from: ObjectPlace, to: ObjectPlace): Promise<Copied | undefined> {
    try {
      return await copyObject(this.client, { from, to, partBytes: this.options.copyPartBytes });
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  private async remove(place: ObjectPlace): Promise<void> {
    await told("DeleteObject", () => this.client.send(new DeleteObjectCommand(place)));
  }

  private async *list(
    folder: string,
    ageMs: number,
    keyOf: (name: string) => string,
  ): AsyncGenerator<string[], void, undefined> {
    const Prefix = `${this.prefix}${folder}`;
    for await (const { Contents = [] } of objectPages(this.client, { Bucket: this.bucket, Prefix })) {
      const keys = Contents.filter(({ LastModified }) => ageOf(LastModified) >= ageMs)
        .map(({ Key }) => keyOf(Key!.slice(Prefix.length)))
        .filter(isUuid);
      if (keys.length > 0) yield keys;
    }
  }

  private blob(key: string): ObjectPlace {
    requireKey(key);
    return this.place(`${key.slice(0, 2)}/${key}`);
  }

  private asideBlob(key: string): ObjectPlace {
    requireKey(key);
    return this.place(`${asideFolder}${key}`);
  }

  private readonly place = (name: string): ObjectPlace => ({
    Bucket: this.bucket,
    Key: `${this.prefix}${name}`,
  });
}

function requireKey(key: string): void {
  if (!isUuid(key)) throw new Error("A blob's key must be a uuid.");
}

/** Milliseconds; clocks may differ a little. */
const ageOf = (time: Date | undefined): number => Math.max(0, Date.now() - (time?.getTime() ?? Date.now()));

function notFound(key: string) {
  return (error: unknown): never => {
    throw isMissing(error) ? new BlobNotFound(key, { cause: error }) : error;
  };
}
