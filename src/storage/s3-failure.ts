/** Apart from Amazon's client: an installation without such a store does not load that. */

/** An S3 store did not do what it was asked. The message has no credentials and no signatures, which the client's errors may have. */
export class S3Failure extends Error {
  constructor(
    operation: string,
    /** As the store or the network names it: `AccessDenied`, `NoSuchBucket`, `ECONNREFUSED`. */
    readonly reason: string,
    readonly status: number | undefined,
    detail: string,
  ) {
    super(`The S3 store failed (${operation}): ${detail}`);
    this.name = "S3Failure";
  }
}

/** Whether an error says that there is no such object. */
export const isMissing = (error: unknown): boolean =>
  error instanceof S3Failure &&
  error.status === 404 &&
  (error.reason === "NoSuchKey" || error.reason === "NotFound");

/** An answer that may be anything. */
export const noLength = (operation: string): S3Failure =>
  new S3Failure(operation, "no length", undefined, "it does not say how many bytes there are");

export const noAnswer = (operation: string, ms: number): S3Failure =>
  new S3Failure(operation, "TimeoutError", undefined, `no answer within ${ms} ms`);
