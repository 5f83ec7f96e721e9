import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { maxChunkBytes } from "./blob-store.js";
import { told } from "./s3-client.js";
import { S3Failure } from "./s3-failure.js";

/** Writes objects: small ones with one request, others in parts. */

const mebibyte = 1024 ** 2;
const leastPartBytes = 8 * mebibyte;
/** Some stores take a thousand, and want all but the last of one size. */
const mostParts = 1_000;
/** Parts of one object that are sent at once. */
const sentAtOnce = 2;
/** Parts in the memory of one process, being filled or sent. */
const partsInMemory = 6;
const mostWaiting = 1_000;
const waitMs = 600_000;

interface Part {
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly isLast: boolean;
  /** Gives its memory back. */
  release(): void;
}

/** Where an object is. */
export interface ObjectPlace {
  readonly Bucket: string;
  readonly Key: string;
}

type Upload = ObjectPlace & { readonly UploadId: string };
type SentPart = { PartNumber: number; ETag: string };

export class S3Uploads {
  private readonly permits = new FairSemaphore({
    permits: partsInMemory,
    mostWaiting,
    timeoutMs: waitMs,
    refusal: "Too many files are being written.",
  });

  constructor(
    private readonly client: S3Client,
    private readonly partBytes = leastPartBytes,
  ) {}

  /** Writes an object as a whole, or none. @throws S3Failure; what the source throws; Failure busy */
  async put(place: ObjectPlace, source: string | AsyncIterable<Uint8Array>): Promise<void> {
    let { partBytes } = this;
    let chunks = source;
    if (typeof chunks === "string") {
      const { size } = await stat(chunks);
      partBytes = Math.max(partBytes, Math.ceil(size / mostParts / mebibyte) * mebibyte);
      chunks = createReadStream(chunks, { highWaterMark: maxChunkBytes });
    }
    const parts = this.parts(place.Key, chunks, partBytes);
    try {
      const { value: first } = (await parts.next()) as IteratorYieldResult<Part>;
      if (first.isLast) await this.putWhole(place, first);
      else await this.putParts(place, first, parts);
    } finally {
      await parts.return(undefined);
    }
  }

  private async putWhole(place: ObjectPlace, { bytes, sha256, release }: Part): Promise<void> {
    const command = new PutObjectCommand({ ...place, Body: bytes, ContentLength: bytes.length });
    try {
      await told("PutObject", () => this.client.send(signed(command, sha256)));
    } catch (error) {
      await this.removeUnlessRefused(place, error);
      throw error;
    } finally {
      release();
    }
  }

  private async putParts(place: ObjectPlace, first: Part, others: AsyncGenerator<Part>): Promise<void> {
    const sending: Promise<SentPart>[] = [];
    const broken = new AbortController();
    let upload: Upload | undefined;
    let part: Part | undefined = first;
    let bytes = 0;
    try {
      const create = new CreateMultipartUploadCommand(place);
      const { UploadId } = await told("CreateMultipartUpload", () => this.client.send(create));
      upload = { ...place, UploadId: UploadId! };
      while (part) {
        bytes += part.bytes.length;
        const sent = this.putPart(upload, sending.length + 1, part, broken.signal);
        part = undefined;
        sent.catch((error: unknown) => broken.abort(error));
        sending.push(sent);
        await sending.at(-sentAtOnce);
        broken.signal.throwIfAborted();
        const next: IteratorResult<Part> = await others.next();
        if (!next.done) part = next.value;
      }
      await this.complete(upload, await Promise.all(sending), bytes);
    } catch (error) {
      part?.release();
      broken.abort(error);
      // A part that arrives later would stay.
      await Promise.allSettled(sending);
      if (upload) await this.client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  }

  private async putPart(
    upload: Upload,
    PartNumber: number,
    { bytes, sha256, release }: Part,
    abortSignal: AbortSignal,
  ): Promise<SentPart> {
    const content = { Body: bytes, ContentLength: bytes.length };
    const command = new UploadPartCommand({ ...upload, PartNumber, ...content });
    try {
      const send = () => this.client.send(signed(command, sha256), { abortSignal });
      const { ETag } = await told("UploadPart", send, abortSignal);
      return { PartNumber, ETag: ETag! };
    } finally {
      release();
    }
  }

  private async complete(upload: Upload, Parts: SentPart[], bytes: number): Promise<void> {
    const { Bucket, Key } = upload;
    try {
      const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } });
      await told("CompleteMultipartUpload", () => this.client.send(command));
    } catch (error) {
      // Where its answer was lost, the second attempt is told that there is no such upload.
      const found = await this.client.send(new HeadObjectCommand({ Bucket, Key })).catch(() => undefined);
      if (found?.ContentLength === bytes) return;
      await this.removeUnlessRefused({ Bucket, Key }, error);
      throw error;
    }
  }

  /** Where an answer was lost, the object may be there. */
  private async removeUnlessRefused(place: ObjectPlace, error: unknown): Promise<void> {
    if (error instanceof S3Failure && error.status !== undefined && error.status < 500) return;
    await this.client.send(new DeleteObjectCommand(place)).catch(() => undefined);
  }

  /** The source in parts, at least one, all but the last of which have `partBytes`. */
  private async *parts(
    owner: string,
    source: AsyncIterable<Uint8Array>,
    partBytes: number,
  ): AsyncGenerator<Part, void, undefined> {
    const chunks = source[Symbol.asyncIterator]();
    const buffers: Buffer[] = [];
    let rest = new Uint8Array(0);
    let isLast = false;
    const refill = async () => {
      while (rest.length === 0 && !isLast) {
        const { done, value } = await chunks.next();
        if (done) isLast = true;
        else rest = value as Uint8Array<ArrayBuffer>;
      }
    };
    try {
      do {
        const free = await this.permits.acquire({ owners: [owner] });
        const hash = createHash("sha256");
        let buffer = buffers.pop() ?? Buffer.allocUnsafe(Math.min(partBytes, maxChunkBytes));
        let length = 0;
        try {
          for (await refill(); rest.length > 0 && length < partBytes; await refill()) {
            const wanted = length + rest.length;
            if (wanted > buffer.length && buffer.length < partBytes)
              buffer = grown(buffer, length, Math.min(partBytes, Math.max(wanted, 2 * buffer.length)));
            const taken = rest.subarray(0, buffer.length - length);
            hash.update(taken);
            buffer.set(taken, length);
            length += taken.length;
            rest = rest.subarray(taken.length);
          }
        } catch (error) {
          free();
          throw error;
        }
        const release = () => {
          // Its memory is used again: what is thrown away lasts until the collector comes.
          buffers.push(buffer);
          free();
        };
        yield { bytes: buffer.subarray(0, length), sha256: hash.digest("hex"), isLast, release };
      } while (!isLast);
    } finally {
      await chunks.return?.();
    }
  }
}

function grown(buffer: Buffer, length: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafe(bytes);
  buffer.copy(larger, 0, 0, length);
  return larger;
}

/** The hash is made piece by piece while the bytes come: that of a whole part would hold the event loop for long. */
function signed<C extends PutObjectCommand | UploadPartCommand>(command: C, sha256: string): C {
  const stack = command.middlewareStack as PutObjectCommand["middlewareStack"];
  stack.add(
    (next) => (args) => {
      (args.request as { headers: Record<string, string> }).headers["x-amz-content-sha256"] = sha256;
      return next(args);
    },
    { step: "build", name: "contentHash" },
  );
  return command;
}
