import type { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { ReadOptions } from "./blob-store.js";
import { told } from "./s3-client.js";
import { noLength, S3Failure } from "./s3-failure.js";
import type { ObjectContent } from "./s3-read.js";
import type { ObjectPlace } from "./s3-upload.js";

/** Requests to an S3 store that all who keep objects there make. All of them throw S3Failure. */

interface Opened extends Pick<ReadOptions, "signal"> {
  /** Bytes, counted from 0; both ends belong to what is asked for. `last` may be infinite. */
  readonly first: number;
  readonly last: number;
}

/** The content of an object from a byte on; undefined = it has no such byte. */
export async function openObject(
  client: S3Client,
  place: ObjectPlace,
  { first, last, signal }: Opened,
): Promise<ObjectContent | undefined> {
  const isEndless = last === Number.POSITIVE_INFINITY;
  const Range = first === 0 && isEndless ? undefined : `bytes=${first}-${isEndless ? "" : last}`;
  const command = new GetObjectCommand({ ...place, Range });
  const send = () => client.send(command, { ...(signal && { abortSignal: signal }) });
  try {
    const { Body, ContentLength, ContentRange } = await told("GetObject", send, signal);
    const body = Body as Readable;
    const begun = ContentRange === undefined ? 0 : Number(/^bytes (\d+)-/.exec(ContentRange)?.[1]);
    if (begun === first && ContentLength !== undefined) return { body, end: first + ContentLength };
    body.destroy();
    throw begun === first
      ? noLength("GetObject")
      : new S3Failure("GetObject", "no ranges", undefined, "it sends other bytes than it was asked for");
  } catch (error) {
    if (error instanceof S3Failure && error.status === 416) return undefined;
    throw error;
  }
}

export interface Listing {
  readonly Bucket: string;
  readonly Prefix: string;
  /** Names that have it after the prefix are told as one. */
  readonly Delimiter?: string;
}

/** The objects whose names have the prefix, a page of some thousand at a time. */
export async function* objectPages(
  client: S3Client,
  listing: Listing,
): AsyncGenerator<ListObjectsV2CommandOutput, void, undefined> {
  for (
    let ContinuationToken: string | undefined, isFirst = true;
    isFirst || ContinuationToken;
    isFirst = false
  ) {
    const command: ListObjectsV2Command = new ListObjectsV2Command({ ...listing, ContinuationToken });
    const page = await told("ListObjectsV2", () => client.send(command));
    yield page;
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
  }
}

/** Removes parts of objects that nobody has completed. @param isOld by the object's name and when it was begun */
export async function abortUploads(
  client: S3Client,
  all: Pick<Listing, "Bucket" | "Prefix">,
  isOld: (name: string, begun: Date | undefined) => boolean,
): Promise<void> {
  for (let from: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}; from; ) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ ...all, ...from });
    const page = await told("ListMultipartUploads", () => client.send(command)).catch((error: unknown) => {
      // Such a server removes them itself, or has none.
      if (error instanceof S3Failure && error.status === 501) return undefined;
      throw error;
    });
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
      if (!isOld(Key!.slice(all.Prefix.length), Initiated)) continue;
      const abort = new AbortMultipartUploadCommand({ Bucket: all.Bucket, Key, UploadId });
      await told("AbortMultipartUpload", () => client.send(abort)).catch((error: unknown) => {
        // It was completed, or another node has removed it.
        if (!(error instanceof S3Failure && error.status === 404)) throw error;
      });
    }
    from = page?.IsTruncated
      ? { KeyMarker: page.NextKeyMarker!, UploadIdMarker: page.NextUploadIdMarker! }
      : undefined;
  }
}
