import { badRequest, tooLarge } from "../errors.js";
import { readForm } from "./form.js";
import type { IncomingBody } from "./incoming.js";
import { decodeUtf8, parseJson } from "./json.js";
import { parseParameters } from "./query.js";
import { type Admit, type Body, type BodyLimits, type Form, modest, type UploadedFile } from "./types.js";
import type { TempFiles } from "./uploads.js";

/** What a body may hold at most in this installation, and where its file goes. */
export interface BodyPlace {
  /** JSON, and forms without their file: held in memory. */
  readonly memoryBytes: number;
  /** The file. */
  readonly fileBytes: number;
  readonly temp: TempFiles;
}

/** What the request's headers say of its body. */
export interface BodyHeaders {
  readonly contentType: string;
  readonly clientName: string;
}

const isMultipart = (type: string) => /^multipart\/form-data\s*(;|$)/i.test(type);
const isUrlencoded = (type: string) => /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type);
const isJson = (type: string) => /^[\w.-]+\/([\w.+-]+\+)?json\s*(;|$)/i.test(type);

type Way = "bytes" | "form" | "file" | "upload";

/** The readers of a body. Each way of reading is done once and remembered, so that two callers can share a body. */
export class RequestBody implements Body {
  readonly limits: Body["limits"];
  private way: Way | undefined;
  private whole: Promise<Buffer> | undefined;
  private parsed: Promise<unknown> | undefined;
  private file: Promise<UploadedFile> | undefined;
  private form: Promise<Form> | undefined;

  constructor(
    private readonly incoming: IncomingBody,
    private readonly headers: BodyHeaders,
    private readonly place: BodyPlace,
    { bytes: most = place.memoryBytes, earlyBytes = most, members, values }: BodyLimits = modest,
  ) {
    const bytes = Math.min(most, place.memoryBytes);
    this.limits = { bytes, earlyBytes: Math.min(earlyBytes, bytes), members, values };
  }

  get receivedBytes(): number {
    return this.incoming.receivedBytes;
  }

  /** A body is read in one way only, however often. */
  private readAs(way: Way): void {
    this.way ??= way;
    if (this.way !== way) throw new Error(`The body was read as ${this.way}, and cannot be read as ${way}.`);
  }

  async bytes(limit = this.limits.bytes): Promise<Buffer> {
    this.readAs("bytes");
    this.whole ??= this.incoming.whole(limit);
    const bytes = await this.whole;
    if (bytes.length > limit) throw tooLarge(`The body is larger than ${limit} bytes.`);
    return bytes;
  }

  json(limit?: number): Promise<unknown> {
    this.parsed ??= this.bytes(limit).then((bytes) => parseJson(bytes, this.limits));
    return this.parsed;
  }

  async fields(limit?: number): Promise<Record<string, unknown>> {
    if (this.incoming.empty) return Object.create(null);
    const type = this.headers.contentType;
    if (isMultipart(type)) return (await this.readForm(limit)).fields;
    if (isJson(type)) return this.jsonFields(limit);
    if (isUrlencoded(type)) return this.urlencodedFields(limit);
    // Clients that name no type send one of the two; anything else is a file and holds no fields.
    if (type !== "" && !/^text\/plain\s*(;|$)/i.test(type)) return Object.create(null);
    const bytes = await this.bytes(limit);
    const first = bytes.find((byte) => byte > 0x20);
    return first === 0x7b || first === 0x5b ? this.jsonFields(limit) : this.urlencodedFields(limit);
  }

  private async jsonFields(limit?: number): Promise<Record<string, unknown>> {
    const fields: Record<string, unknown> = Object.create(null);
    if ((await this.bytes(limit)).length === 0) return fields;
    const value = await this.json(limit);
    // An array or a single value has no named fields.
    if (typeof value !== "object" || value === null || Array.isArray(value)) return fields;
    for (const [name, item] of Object.entries(value)) fields[name] = item;
    return fields;
  }

  private async urlencodedFields(limit?: number): Promise<Record<string, unknown>> {
    const fields: Record<string, unknown> = Object.create(null);
    for (const [name, value] of parseParameters(decodeUtf8(await this.bytes(limit)))) fields[name] = value;
    return fields;
  }

  private readForm(limit = this.limits.bytes): Promise<Form> {
    this.readAs("form");
    this.form ??= readForm(this.incoming, { contentType: this.headers.contentType, bytes: limit });
    return this.form;
  }

  toFile(): Promise<UploadedFile> {
    this.readAs("file");
    const { temp, fileBytes } = this.place;
    this.file ??= temp.store(this.incoming.chunks(fileBytes), this.headers.clientName);
    return this.file;
  }

  async upload(name: string, admit: Admit): Promise<Form> {
    const { contentType } = this.headers;
    if (!isMultipart(contentType)) return { file: undefined, fields: await this.fields(), turnedAway: false };
    this.readAs("upload");
    const { temp, fileBytes } = this.place;
    this.form ??= readForm(this.incoming, {
      contentType,
      bytes: this.limits.bytes,
      file: { name, bytes: fileBytes, admit, temp },
    });
    return this.form;
  }
}

const codings = /^(identity)?$/i;

/** Whether a Content-Encoding is one that we read: none. */
export const isPlain = (contentEncoding: string | undefined): boolean => codings.test(contentEncoding ?? "");

/**
 * The file name that a raw upload goes by, from the header X-Filename, which may be percent-encoded.
 * @throws Failure bad_request when its encoding is damaged or it is longer than 1000 characters
 */
export function clientName(header: string | undefined): string {
  if (header === undefined) return "";
  if (header.length > 1000) throw badRequest("The file name is too long.");
  let name = header;
  try {
    name = decodeURIComponent(header);
  } catch {
    // A percent sign may stand for itself in a name that was not encoded.
  }
  if (name.includes("\0")) throw badRequest("The file name holds a NUL character.");
  return name;
}
