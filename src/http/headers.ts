import type { Headers, Reply } from "./types.js";

/** Response headers. */

/** Sent with every response. */
export const commonHeaders: Headers = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "ETag, X-Request-Id, Retry-After, Content-Disposition, Content-Range, Accept-Ranges, Last-Modified, Allow, WWW-Authenticate, X-Export-Notes, X-Ignored, X-Edge, X-Fresh-At, Link, X-Total-Count, X-Tile-Incomplete, X-Map-State, X-Search-Incomplete, RateLimit, RateLimit-Policy",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** A reply with more headers. */
export const withHeaders = (reply: Reply, more: Headers): Reply => ({
  ...reply,
  headers: { ...reply.headers, ...more },
});

const token = /^[\w!#$%&'*+.^`|~-]+$/;
const printable = /^[\t\x20-\x7e]*$/;
// Set by the server library or this folder only.
const reserved = new Set(["content-length", "transfer-encoding", "date", "keep-alive", "upgrade"]);

/**
 * Header lines separated by line breaks, without one at the end.
 * @param except names that are left out, because they are written elsewhere
 * @throws Error when a name is not a token or a value has characters other than printable ASCII
 */
function formatHeaders(headers: Headers, except: ReadonlySet<string> = reserved): string {
  let text = "";
  for (const name of Object.keys(headers)) {
    if (except.has(name)) continue;
    const value = headers[name]!;
    if (!token.test(name) || !printable.test(value))
      throw new Error(`The header ${JSON.stringify(name)} is not valid.`);
    text += `${text === "" ? "" : "\r\n"}${name}: ${value}`;
  }
  return text;
}

/** Header lines of every response to one request, which handlers cannot override. */
export interface BaseHeaders {
  readonly lines: string;
  /** Their names and other reserved names. */
  readonly names: ReadonlySet<string>;
}

const commonLines = formatHeaders(commonHeaders);
const baseNames = new Set([...reserved, ...Object.keys(commonHeaders), "x-request-id"]);
const baseNamesWithConnection = new Set([...baseNames, "connection"]);

/** @param last adds `Connection: close`, which the library does not, even where it closes the connection as it was asked to */
export function baseHeaders(requestId: string, last: boolean): BaseHeaders {
  const lines = `${commonLines}\r\nx-request-id: ${requestId}`;
  return last
    ? { lines: `${lines}\r\nconnection: close`, names: baseNamesWithConnection }
    : { lines, names: baseNames };
}

/**
 * Header lines of a response, with the base headers, as `formatHeaders`.
 * @throws Error as `formatHeaders`
 */
export function responseHeaders(headers: Headers, base: BaseHeaders): string {
  const lines = formatHeaders(headers, base.names);
  return lines === "" ? base.lines : `${lines}\r\n${base.lines}`;
}

/**
 * Status and headers of a response as bytes, to be passed to `writeStatus`: one call instead of eight, which makes a cached
 * tile nearly as fast as an empty handler.
 * @throws Error as `formatHeaders`
 */
export function responseHead(status: string, headers: Headers): Uint8Array {
  const text = `${status}\r\n${formatHeaders(headers)}`;
  // Copied, since small Node buffers are views of a shared pool.
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/**
 * Headers that a 304 repeats from its 200: those that RFC 9110 requires or that may have changed, and CORS. (Measured: each
 * 100 bytes add 1 % to the cost of a cached 304.)
 */
const notModifiedNames = [
  "etag",
  // Before the others: nginx obeys the first that tells how long.
  "x-accel-expires",
  "cache-control",
  "cdn-cache-control",
  "surrogate-control",
  "surrogate-key",
  "cache-tag",
  "vary",
  "content-location",
  "expires",
  "last-modified",
  "access-control-allow-origin",
];

export function notModifiedHeaders(headers: Headers): Headers {
  const repeated: Record<string, string> = {};
  for (const name of notModifiedNames) if (headers[name] !== undefined) repeated[name] = headers[name];
  return repeated;
}

/** Whether the value of `Connection` asks to close it after the answer, which then says that it will be. */
export const asksToClose = (connection: string | undefined): boolean =>
  connection !== undefined && connection !== "" && /(^|,)\s*close\s*(,|$)/i.test(connection);

/** Whether If-None-Match matches the ETag: a list of tags, by weak comparison (RFC 9110, 13.1.2), or `*`. */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === "*") return true;
  // Compressed answers have a tag of their own, of the same content.
  const strong = (tag: string) => (tag.startsWith("W/") ? tag.slice(2) : tag).replace(/-(?:gzip|br)"$/, '"');
  const wanted = strong(etag);
  return (ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? []).some((tag) => strong(tag) === wanted);
}

/** Whether Accept-Encoding allows gzip (RFC 9110, 12.5.3). Without the header a client gets what needs no decoding. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (!acceptEncoding) return false;
  let accepted = acceptedGzip.get(acceptEncoding);
  if (accepted === undefined) {
    accepted = parseAccepts(acceptEncoding, /^(?:x-)?gzip$/);
    // Browsers and their versions send a handful of values.
    if (acceptedGzip.size >= mostAccepted) acceptedGzip.clear();
    if (acceptEncoding.length <= longestAccepted) acceptedGzip.set(acceptEncoding, accepted);
  }
  return accepted;
}

/** What was found for values of Accept-Encoding. (Reading one takes a third of the time of a cached answer.) */
const acceptedGzip = new Map<string, boolean>();
const mostAccepted = 100;
const longestAccepted = 200;

/** Whether Accept-Encoding names brotli. */
export const acceptsBrotli = (acceptEncoding: string | undefined): boolean =>
  parseAccepts(acceptEncoding ?? "", /^br$/);

function parseAccepts(acceptEncoding: string, wanted: RegExp): boolean {
  let byWildcard = false;
  for (const part of acceptEncoding.split(",")) {
    const [coding = "", ...parameters] = part.toLowerCase().split(";");
    const accepted = !parameters.some((one) => /^\s*q\s*=\s*0(?:\.0*)?\s*$/.test(one));
    const name = coding.trim();
    if (wanted.test(name)) return accepted;
    if (name === "*") byWildcard = accepted;
  }
  return byWildcard;
}

/**
 * Value of Content-Disposition for any file name (RFC 6266): an ASCII name for old clients and the full name
 * percent-encoded. Control characters, also those that reverse the direction of text (U+202E turns `gpj.exe` into
 * `exe.jpg` on the screen), and slashes are replaced.
 */
export function contentDisposition(type: "attachment" | "inline", name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Bidi_Control}\p{Surrogate}/\\]/gu, "_");
  const ascii = clean.replace(/[^\x20-\x7e]|["%]/gu, "_");
  const encoded = encodeURIComponent(clean).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${ascii}"${ascii === clean ? "" : `; filename*=UTF-8''${encoded}`}`;
}
