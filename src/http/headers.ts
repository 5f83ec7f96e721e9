import type { Headers } from "./types.js";

/** Header lines of answers. */

/** Sent with every answer. */
export const commonHeaders: Headers = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "ETag, X-Request-Id, Retry-After, Content-Disposition, Last-Modified, Allow, WWW-Authenticate",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

const token = /^[\w!#$%&'*+.^`|~-]+$/;
const printable = /^[\t\x20-\x7e]*$/;
// The server library and this folder decide over these.
const ours = new Set(["content-length", "transfer-encoding", "date", "keep-alive", "upgrade"]);

/**
 * Header lines as text, joined but not ended by line breaks.
 * @param but names that are left out, for they are written elsewhere
 * @throws Error when a name is no token or a value holds anything but printable ASCII
 */
function formatHeaders(headers: Headers, but: ReadonlySet<string> = ours): string {
  let text = "";
  for (const name of Object.keys(headers)) {
    if (but.has(name)) continue;
    const value = headers[name]!;
    if (!token.test(name) || !printable.test(value))
      throw new Error(`The header ${JSON.stringify(name)} is not valid.`);
    text += `${text === "" ? "" : "\r\n"}${name}: ${value}`;
  }
  return text;
}

/** Header lines that every answer to one request carries, whatever its handler says. */
export interface OwnHeaders {
  readonly lines: string;
  /** Names in them, and those that are never a handler's. */
  readonly names: ReadonlySet<string>;
}

const commonLines = formatHeaders(commonHeaders);
const ownNames = new Set([...ours, ...Object.keys(commonHeaders), "x-request-id"]);
const ownNamesOfLast = new Set([...ownNames, "connection"]);

/** @param last whether the answer asks the client not to send more on its connection */
export function ownHeaders(requestId: string, last: boolean): OwnHeaders {
  const lines = `${commonLines}\r\nx-request-id: ${requestId}`;
  return last
    ? { lines: `${lines}\r\nconnection: close`, names: ownNamesOfLast }
    : { lines, names: ownNames };
}

/**
 * Header lines of an answer, as `formatHeaders`.
 * @throws Error as `formatHeaders`
 */
export function answerLines(headers: Headers, own: OwnHeaders): string {
  const lines = formatHeaders(headers, own.names);
  return lines === "" ? own.lines : `${lines}\r\n${own.lines}`;
}

/**
 * An answer's head from the status on, as bytes. The server library takes it all for the status: one call instead of
 * eight is what keeps a cached tile near the speed of a bare handler.
 * @throws Error as `formatHeaders`
 */
export function answerHead(status: string, headers: Headers): Uint8Array {
  const text = `${status}\r\n${formatHeaders(headers)}`;
  // Node's small buffers are windows into a shared one; those that are kept get memory of their own.
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/**
 * What a 304 repeats of its 200: what may have changed, and leave to read it. The client has the rest, and each
 * hundred bytes more take a hundredth of what a cached 304 costs.
 */
const kept = [
  "etag",
  "cache-control",
  "surrogate-key",
  "vary",
  "content-location",
  "expires",
  "last-modified",
  "access-control-allow-origin",
];

export function notModifiedHeaders(headers: Headers): Headers {
  const repeated: Record<string, string> = {};
  for (const name of kept) if (headers[name] !== undefined) repeated[name] = headers[name];
  return repeated;
}

/** Whether an If-None-Match names the entity: a list of tags, weak or strong alike (RFC 9110, 13.1.2), or `*`. */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === "*") return true;
  const strong = (tag: string) => (tag.startsWith("W/") ? tag.slice(2) : tag);
  const wanted = strong(etag);
  return (ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? []).some((tag) => strong(tag) === wanted);
}

/**
 * Value of Content-Disposition for a file name of any kind (RFC 6266): an ASCII name for old clients and the whole
 * name percent-encoded, in one line whatever the name holds.
 */
export function contentDisposition(type: "attachment" | "inline", name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Surrogate}/\\]/gu, "_");
  const ascii = clean.replace(/[^\x20-\x7e]|["%]/gu, "_");
  const encoded = encodeURIComponent(clean).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${ascii}"${ascii === clean ? "" : `; filename*=UTF-8''${encoded}`}`;
}
