import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  type S3Client,
  UploadPartCopyCommand,
} from "@aws-sdk/client-s3";
import { told } from "./s3-client.js";
import type { ObjectPlace } from "./s3-upload.js";

/** One request copies at most 5 GiB, and a server that copies much at once is silent for long. */
const leastPartBytes = 256 * 1024 ** 2;
const mostParts = 1_000;

export interface Copying {
  readonly from: ObjectPlace;
  readonly to: ObjectPlace;
  readonly partBytes?: number | undefined;
}

export interface Copied {
  /** When what was copied was written. */
  readonly modified: Date | undefined;
}

/** Copies an object within the store. @throws S3Failure, which is missing when there is none */
export async function copyObject(
  client: S3Client,
  { from, to, partBytes = leastPartBytes }: Copying,
): Promise<Copied> {
  // Names have no characters that would have to be escaped.
  const CopySource = `${from.Bucket}/${from.Key}`;
  const { ContentLength: size = 0, LastModified: modified } = await told("HeadObject", () =>
    client.send(new HeadObjectCommand(from)),
  );
  if (size <= partBytes) {
    await told("CopyObject", () => client.send(new CopyObjectCommand({ ...to, CopySource })));
    return { modified };
  }
  const length = Math.max(partBytes, Math.ceil(size / mostParts));
  const created = await told("CreateMultipartUpload", () =>
    client.send(new CreateMultipartUploadCommand(to)),
  );
  const upload = { ...to, UploadId: created.UploadId! };
  try {
    const Parts: { PartNumber: number; ETag: string }[] = [];
    for (let first = 0; first < size; first += length) {
      const PartNumber = Parts.length + 1;
      const CopySourceRange = `bytes=${first}-${Math.min(size, first + length) - 1}`;
      const command = new UploadPartCopyCommand({ ...upload, PartNumber, CopySource, CopySourceRange });
      const { CopyPartResult } = await told("UploadPartCopy", () => client.send(command));
      Parts.push({ PartNumber, ETag: CopyPartResult!.ETag! });
    }
    const complete = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } });
    await told("CompleteMultipartUpload", () => client.send(complete));
    return { modified };
  } catch (error) {
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}
