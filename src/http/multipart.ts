import { badRequest } from "../errors.js";
import { decodeUtf8 } from "../json.js";

/** Streaming parser of multipart/form-data (RFC 7578, RFC 2046 section 5.1). */

export type PartEvent =
  | { readonly kind: "part"; readonly name: string; readonly filename: string | undefined }
  | { readonly kind: "data"; readonly bytes: Buffer }
  | { readonly kind: "end" };

const maxParts = 1000;
const maxHeadBytes = 8192;
const blankLine = Buffer.from("\r\n\r\n");

/**
 * The boundary in a Content-Type.
 * @throws Failure bad_request when there is none or it is not valid by RFC 2046
 */
export function boundaryOf(contentType: string): string {
  const found = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType);
  const boundary = found?.[1] ?? found?.[2] ?? "";
  if (!/^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/.test(boundary)) {
    throw badRequest("The multipart body has no valid boundary.");
  }
  return boundary;
}

export class MultipartParser {
  private readonly delimiter: Buffer;
  // A delimiter includes the line break before it, which the first one may lack.
  private rest: Buffer = Buffer.from("\r\n");
  private state: "preamble" | "delimiter" | "head" | "data" | "done" = "preamble";
  private parts = 0;

  constructor(boundary: string) {
    this.delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /** Bytes that were pushed and are not part of an event yet. */
  get pendingBytes(): number {
    return this.rest.length;
  }

  /**
   * Takes the next bytes and yields the events that they complete.
   * @throws Failure bad_request
   */
  *push(chunk: Buffer): Generator<PartEvent, void, undefined> {
    if (this.state === "done") return;
    this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    for (;;) {
      const { rest } = this;
      if (this.state === "preamble" || this.state === "data") {
        const at = rest.indexOf(this.delimiter);
        const safe = at === -1 ? Math.max(0, rest.length - this.delimiter.length + 1) : at;
        const inPart = this.state === "data";
        this.rest = rest.subarray(at === -1 ? safe : at + this.delimiter.length);
        if (inPart && safe > 0) yield { kind: "data", bytes: rest.subarray(0, safe) };
        if (at === -1) return;
        this.state = "delimiter";
        if (inPart) yield { kind: "end" };
      } else if (this.state === "delimiter") {
        if (rest.length < 2) return;
        if (rest[0] === 0x2d && rest[1] === 0x2d) {
          this.state = "done";
          this.rest = Buffer.alloc(0);
          return;
        }
        // White space after a boundary is legal, but no client sends it: refused.
        if (rest[0] !== 0x0d || rest[1] !== 0x0a) throw malformed();
        if (++this.parts > maxParts) throw badRequest(`The multipart body has more than ${maxParts} parts.`);
        this.state = "head";
      } else {
        // `rest` still begins with the line break after the boundary, so that an empty head is found too.
        const at = rest.indexOf(blankLine);
        if (at > maxHeadBytes || (at === -1 && rest.length > maxHeadBytes)) throw malformed();
        if (at === -1) return;
        this.rest = rest.subarray(at + blankLine.length);
        this.state = "data";
        yield { kind: "part", ...disposition(decodeUtf8(rest.subarray(2, Math.max(2, at)))) };
      }
    }
  }

  /**
   * Must be called at the end of the body.
   * @throws Failure bad_request when the closing boundary is missing
   */
  finish(): void {
    if (this.state !== "done") throw malformed();
  }
}

const malformed = () => badRequest("The multipart body is malformed.");

function disposition(head: string): { name: string; filename: string | undefined } {
  const line = /^content-disposition:[ \t]*form-data[ \t]*(;.*)$/im.exec(head)?.[1];
  if (line === undefined) throw badRequest("A part of the multipart body has no name.");
  const parameters = new Map<string, string>();
  for (const match of line.matchAll(/;[ \t]*([\w*]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g)) {
    const key = (match[1] as string).toLowerCase();
    const value = match[2] !== undefined ? match[2].replace(/\\(["\\])/g, "$1") : (match[3] as string);
    if (!parameters.has(key)) parameters.set(key, value);
  }
  const name = parameters.get("name");
  if (!name) throw badRequest("A part of the multipart body has no name.");
  const filename = extended(parameters.get("filename*")) ?? parameters.get("filename");
  if (name.includes("\0") || filename?.includes("\0")) throw malformed();
  return { name, filename };
}

/** `UTF-8''%d0%b6.csv` (RFC 8187). */
function extended(value: string | undefined): string | undefined {
  const encoded = value && /^utf-8'[^']*'(.*)$/i.exec(value)?.[1];
  if (!encoded) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw malformed();
  }
}
