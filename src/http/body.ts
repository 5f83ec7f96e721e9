import { badRequest, tooLarge } from "../errors.js";
import { decodeUtf8, parseJson } from "../json.js";
import { readForm } from "./form.js";
import type { IncomingBody } from "./incoming.js";
import { parseParameters } from "./query.js";
import {
  type Admit,
  type Body,
  type BodyLimits,
  defaultBodyLimits,
  type Form,
  type Lent,
  type UploadedFile,
} from "./types.js";
import type { TempFiles } from "./uploads.js";

/** Size limits of bodies in this installation, and the folder for uploaded files. */
export interface BodyStorage {
  /** Maximum size of JSON, and of forms without their file, which are held in memory. */
  readonly memoryBytes: number;
  /** Maximum size of the uploaded files of a request. */
  readonly fileBytes: number;
  readonly temp: TempFiles;
}

/** Request headers that describe the body. */
export interface BodyHeaders {
  readonly contentType: string;
  /** File name from X-Filename; "" when there is none. */
  readonly clientName: string;
}

const isMultipart = (type: string) => /^multipart\/form-data\s*(;|$)/i.test(type);
const isUrlencoded = (type: string) => /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type);
const isJson = (type: string) => /^[\w.-]+\/([\w.+-]+\+)?json\s*(;|$)/i.test(type);

type ReadMode = "bytes" | "form" | "file" | "upload";

/** Reads a request body. The result is kept, so that two callers can read the same body in the same way. */
export class RequestBody implements Body {
  readonly limits: Body["limits"];
  private readonly fileBytes: number;
  private mode: ReadMode | undefined;
  private parts: Promise<Buffer[]> | undefined;
  private parsed: Promise<unknown> | undefined;
  private file: Promise<UploadedFile> | undefined;
  private form: Promise<Form> | undefined;

  constructor(
    private readonly incoming: IncomingBody,
    private readonly headers: BodyHeaders,
    private readonly storage: BodyStorage,
    {
      bytes: maxBytes = storage.memoryBytes,
      earlyBytes = maxBytes,
      fileBytes = storage.fileBytes,
      ...counts
    }: BodyLimits = defaultBodyLimits,
  ) {
    const bytes = Math.min(maxBytes, storage.memoryBytes);
    this.limits = { ...counts, bytes, earlyBytes: Math.min(earlyBytes, bytes) };
    this.fileBytes = Math.min(fileBytes, storage.fileBytes);
  }

  get receivedBytes(): number {
    return this.incoming.receivedBytes;
  }

  /** @throws Error when the body was already read in another way */
  private readAs(mode: ReadMode): void {
    this.mode ??= mode;
    if (this.mode !== mode)
      throw new Error(`The body was read as ${this.mode}, and cannot be read as ${mode}.`);
  }

  /** @throws Failure too_large */
  private async received(limit: number): Promise<Buffer[]> {
    this.readAs("bytes");
    this.parts ??= this.incoming.parts(limit);
    const parts = await this.parts;
    if (lengthOf(parts) > limit) throw tooLarge(`The body is larger than ${limit} bytes.`);
    return parts;
  }

  async length(limit = this.limits.bytes): Promise<number> {
    return lengthOf(await this.received(limit));
  }

  async bytes(limit = this.limits.bytes): Promise<Buffer> {
    const parts = await this.received(limit);
    if (parts.length === 1) return parts[0]!;
    const whole = Buffer.concat(parts);
    this.parts = Promise.resolve([whole]);
    return whole;
  }

  async lend<T>(use: (parts: readonly Uint8Array[]) => Promise<Lent<T>>): Promise<T> {
    const parts = await this.received(this.limits.bytes);
    this.parts = Promise.reject(new Error("The body is read elsewhere, or was lost there."));
    this.parts.catch(() => undefined);
    const { parts: returned, value } = await use(parts.map(inOwnMemory));
    this.parts = Promise.resolve(
      returned.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
    );
    return value;
  }

  get isJson(): boolean {
    return this.parsed !== undefined;
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
    // Without a Content-Type (or with text/plain) the content decides; any other type is a file and has no fields.
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
    this.file ??= this.storage.temp.store(this.passing(this.fileBytes), this.headers.clientName);
    return this.file;
  }

  /** Chunks that do not stay in memory. */
  private async *passing(limit: number): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of this.incoming.chunks(limit)) {
      yield chunk;
      this.incoming.letGo(chunk.length);
    }
  }

  async upload(name: string, admit: Admit): Promise<Form> {
    const { contentType } = this.headers;
    if (!isMultipart(contentType)) return { files: [], fields: await this.fields(), fileRefused: false };
    this.readAs("upload");
    this.form ??= readForm(this.incoming, {
      contentType,
      bytes: this.limits.bytes,
      file: { name, most: this.limits.files, bytes: this.fileBytes, admit, temp: this.storage.temp },
    });
    return this.form;
  }
}

const lengthOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, { length }) => sum + length, 0);

/** Small parts share memory, which must stay here. */
const inOwnMemory = (part: Buffer): Uint8Array =>
  part.length === part.buffer.byteLength ? part : new Uint8Array(part);

const codings = /^(identity)?$/i;

/** Whether a Content-Encoding means an uncompressed body; others are not supported. */
export const isUncompressed = (contentEncoding: string | undefined): boolean =>
  codings.test(contentEncoding ?? "");

/**
 * The file name of a raw upload, from the header X-Filename, which may be percent-encoded.
 * @throws Failure bad_request when it contains NUL or is longer than 1000 characters
 */
export function clientName(header: string | undefined): string {
  if (header === undefined) return "";
  if (header.length > 1000) throw badRequest("The file name is too long.");
  let name = header;
  try {
    name = decodeURIComponent(header);
  } catch {
    // The name was not encoded and contains a percent sign.
  }
  if (name.includes("\0")) throw badRequest("The file name contains a NUL character.");
  return name;
}
