import { S3Client, type S3ServiceException } from "@aws-sdk/client-s3";
import type { BlobAddress } from "../blob-address.js";
import { type AwsSettings, hushAws } from "../config.js";
import { S3Failure } from "./s3-failure.js";

/** The client of S3 stores, and what its errors mean. Credentials come from where Amazon's programs have them. */

/** A store that sends and takes nothing for so long does not answer. A server that copies says nothing meanwhile. */
const silenceMs = 30_000;
const connectMs = 5_000;
/** Connections of one process. */
export const mostConnections = 256;

export interface S3Options {
  readonly address: BlobAddress;
  readonly aws: AwsSettings;
  /** Time in ms without a byte after which a request has failed. */
  readonly silenceMs?: number | undefined;
  /** How often a request is sent at most; default: `AWS_MAX_ATTEMPTS`, or 3. */
  readonly attempts?: number | undefined;
}

export function createS3Client({ aws, silenceMs: silent = silenceMs, attempts }: S3Options): S3Client {
  const { endpoint, region } = aws;
  hushAws();
  const agent = { keepAlive: true, maxSockets: mostConnections };
  return new S3Client({
    // Others have no regions, but requests are signed with one.
    ...(region !== undefined ? { region } : endpoint !== undefined ? { region: "us-east-1" } : {}),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(attempts !== undefined && { maxAttempts: attempts }),
    followRegionRedirects: true,
    // Stores of others do not know the newer ones. What is sent is signed with its SHA-256 anyway.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: connectMs,
      socketTimeout: silent,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
}

/** Calls the client. @throws S3Failure; the signal's reason when it has aborted */
export async function told<T>(
  operation: string,
  call: () => Promise<T>,
  signal?: AbortSignal | undefined,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    signal?.throwIfAborted();
    throw failureOf(operation, error);
  }
}

function failureOf(operation: string, error: unknown): S3Failure {
  if (error instanceof S3Failure) return error;
  const { name, code, message, $metadata } = error as Partial<S3ServiceException> & { code?: string };
  const status = $metadata?.httpStatusCode;
  const reason = (status === undefined ? code : undefined) ?? name ?? "Error";
  // Of its own the store may quote what was sent.
  const detail =
    status === undefined
      ? [reason, message].filter(Boolean).join(": ")
      : `${reason} (${status}${$metadata?.requestId ? `, request ${$metadata.requestId}` : ""})`;
  return new S3Failure(operation, reason, status, detail);
}
