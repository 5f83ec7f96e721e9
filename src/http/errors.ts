import { Failure, type FailureKind, isDiskFull, noRoomText } from "../errors.js";
import { S3Failure } from "../storage/s3-failure.js";
import { prefersJson } from "./accept.js";
import { statusTexts } from "./status.js";
import type { Headers } from "./types.js";

/** Maps failures to HTTP responses. */

const statuses: Record<FailureKind, number> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  too_many: 429,
  unsupported_encoding: 415,
  execution: 500,
  busy: 503,
  outcome_unknown: 503,
};

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** True for those whose cause only the log tells. */
  readonly unexpected: boolean;
}

export interface ErrorContext {
  readonly requestId: string;
  /** The Accept header. */
  readonly accept: string | undefined;
  /** Of the public address, "" or for example `/geo`. */
  readonly prefix: string;
}

/** Where the documentation tells of a code or status. */
const helpAt = (prefix: string, name: string | number): string => `${prefix}/docs/reference/errors/#${name}`;

/** SQLSTATE query_canceled: a statement timeout or a cancellation. */
export const isCancelledQuery = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "57014";

/** Other errors become `internal`, with the request id and no details but that the disk is full. */
function toFailure(error: unknown, requestId: string): Failure {
  if (error instanceof Failure) {
    if (error.code !== "internal" || error.data.request !== undefined) return error;
    // What the client cannot mend is looked up in the log.
    return new Failure(error.kind, error.code, error.message, { ...error.data, request: requestId });
  }
  if (isCancelledQuery(error)) {
    return new Failure("busy", "busy", "The work took longer than is allowed here.", {
      retryAfterSeconds: 5,
    });
  }
  if (error instanceof S3Failure)
    return new Failure("busy", "busy", "The store of files cannot be used just now.", {
      retryAfterSeconds: 5,
    });
  const message = isDiskFull(error) ? noRoomText : "An unexpected error occurred.";
  return new Failure("execution", "internal", message, { request: requestId });
}

/** The response for an error; never throws. */
export function errorResponse(error: unknown, context: ErrorContext): ErrorResponse {
  const failure = toFailure(error, context.requestId);
  const status = statuses[failure.kind];
  const headers: Record<string, string> = { "cache-control": "no-store" };
  const unexpected = failure.code === "internal" || error instanceof S3Failure;
  if (failure.kind === "unauthenticated") headers["www-authenticate"] = "Bearer";
  // Always with 503; with other statuses when there were too many attempts.
  if (status === 503 || failure.data.retryAfterSeconds !== undefined) {
    headers["retry-after"] = retryAfter(failure.data.retryAfterSeconds);
  }
  if (failure.kind === "too_many") Object.assign(headers, quotaHeaders(failure.data.quota as Quota));
  // The rest of a too large body is not received.
  if (failure.kind === "too_large") headers.connection = "close";
  if (status >= 500) {
    headers["content-type"] = "application/json; charset=utf-8";
    headers.link = `<${helpAt(context.prefix, failure.code ?? "internal")}>; rel="help"`;
    return { status, headers, body: executionBody(failure), unexpected };
  }
  if (prefersJson(context.accept)) {
    headers["content-type"] = "application/problem+json";
    const body = JSON.stringify({
      type: "about:blank",
      title: statusTexts[status],
      status,
      detail: failure.message,
      // What is in the way, as an extension member of RFC 9457.
      ...(failure.kind === "conflict" && { data: failure.data }),
    });
    return { status, headers, body, unexpected };
  }
  headers["content-type"] = "text/html; charset=utf-8";
  headers["content-security-policy"] = "default-src 'none'";
  const help = helpAt(context.prefix, status);
  return { status, headers, body: errorPage(status, failure.message, help), unexpected };
}

interface Quota {
  readonly work: string;
  /** Requests in a minute. */
  readonly limit: number;
  readonly left: number;
  readonly seconds: number;
}

/** Headers that tell a client what it has left (draft-ietf-httpapi-ratelimit-headers). */
export const quotaHeaders = ({ work, limit, left, seconds }: Quota): Headers => ({
  "ratelimit-policy": `"${work}";q=${limit};w=60`,
  ratelimit: `"${work}";r=${left};t=${seconds}`,
});

function executionBody({ code, message, data }: Failure): string {
  try {
    return JSON.stringify({ error: "error", code: code ?? "internal", message, data });
  } catch {
    return JSON.stringify({ error: "error", code: code ?? "internal", message, data: {} });
  }
}

const retryAfter = (seconds: unknown): string =>
  String(typeof seconds === "number" && seconds >= 1 ? Math.ceil(seconds) : 1);

const escapes: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => escapes[c] as string);

/**
 * A short HTML page with the reason in one sentence.
 * @param help address of a page about errors like it
 */
export function errorPage(status: number, reason: string, help?: string): string {
  const title = statusTexts[status] ?? "Error";
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${status} ${title}</title></head>` +
    `<body><h1>${title}</h1><p>${escapeHtml(reason)}</p>${
      help === undefined ? "" : `<p><a href="${escapeHtml(help)}">What to do</a></p>`
    }</body></html>\n`
  );
}
