import { readFile } from "node:fs/promises";
import { badRequest, tooLarge } from "../errors.js";
import { type Form, readForm } from "./form.js";
import type { IncomingBody } from "./incoming.js";
import { decodeUtf8, parseJson } from "./json.js";
import { parseParameters } from "./query.js";
import type { Body, UploadedFile } from "./types.js";
import type { TempFiles } from "./uploads.js";

export interface BodyLimits {
  /** What is held in memory: JSON, forms without their files. */
  readonly memoryBytes: number;
  /** What goes to a temporary file. */
  readonly fileBytes: number;
}

/** What the request's headers say of its body. */
export interface BodyHeaders {
  readonly contentType: string;
  readonly clientName: string;
}

const isMultipart = (type: string) => /^multipart\/form-data\s*(;|$)/i.test(type);
const isUrlencoded = (type: string) => /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type);
const isJson = (type: string) => /^[\w.-]+\/([\w.+-]+\+)?json\s*(;|$)/i.test(type);

/** The readers of a body. Each way of reading is done once and remembered, so that two callers can share a body. */
export class RequestBody implements Body {
  private whole: Promise<Buffer> | undefined;
  private parsed: Promise<unknown> | undefined;
  private file: Promise<UploadedFile> | undefined;
  private form: Promise<Form> | undefined;

  constructor(
    private readonly incoming: IncomingBody,
    private readonly headers: BodyHeaders,
    private readonly limits: BodyLimits,
    private readonly temp: TempFiles,
  ) {}

  async bytes(limit = this.limits.memoryBytes): Promise<Buffer> {
    if (this.form) throw new Error("The body was already read as a form.");
    if (this.file) {
      const file = await this.file;
      if (file.bytes > limit) throw tooLarge(`The body is larger than ${limit} bytes.`);
      this.whole ??= readFile(file.path);
    }
    this.whole ??= this.incoming.whole(limit);
    const bytes = await this.whole;
    if (bytes.length > limit) throw tooLarge(`The body is larger than ${limit} bytes.`);
    return bytes;
  }

  json(limit?: number): Promise<unknown> {
    this.parsed ??= this.bytes(limit).then(parseJson);
    return this.parsed;
  }

  async fields(limit = this.limits.memoryBytes): Promise<Record<string, unknown>> {
    if (this.incoming.empty) return Object.create(null);
    const type = this.headers.contentType;
    if (this.form || isMultipart(type)) return (await this.readForm(limit)).fields;
    if (isJson(type)) return this.jsonFields(limit);
    if (isUrlencoded(type)) return this.urlencodedFields(limit);
    // Clients that name no type send one of the two; anything else is a file and holds no fields.
    if (type !== "" && !/^text\/plain\s*(;|$)/i.test(type)) return Object.create(null);
    const bytes = await this.bytes(limit);
    const first = bytes.find((byte) => byte > 0x20);
    return first === 0x7b || first === 0x5b ? this.jsonFields(limit) : this.urlencodedFields(limit);
  }

  private async jsonFields(limit: number): Promise<Record<string, unknown>> {
    const fields: Record<string, unknown> = Object.create(null);
    if ((await this.bytes(limit)).length === 0) return fields;
    const value = await this.json(limit);
    // An array or a single value has no named fields.
    if (typeof value !== "object" || value === null || Array.isArray(value)) return fields;
    for (const [name, item] of Object.entries(value)) fields[name] = item;
    return fields;
  }

  private async urlencodedFields(limit: number): Promise<Record<string, unknown>> {
    const fields: Record<string, unknown> = Object.create(null);
    for (const [name, value] of parseParameters(decodeUtf8(await this.bytes(limit)))) fields[name] = value;
    return fields;
  }

  private readForm(fieldBytes: number): Promise<Form> {
    if (this.whole || this.file) throw new Error("The body was already read as bytes.");
    const limits = { fieldBytes, totalBytes: this.limits.fileBytes };
    this.form ??= readForm(this.incoming, this.headers.contentType, limits, this.temp);
    return this.form;
  }

  async toFile(limit = this.limits.fileBytes): Promise<UploadedFile> {
    if (this.form) throw new Error("The body was already read as a form.");
    this.file ??= this.temp.store(
      this.whole ? single(this.whole) : this.incoming.chunks(limit),
      this.headers.clientName,
    );
    const file = await this.file;
    if (file.bytes > limit) throw tooLarge(`The body is larger than ${limit} bytes.`);
    return file;
  }

  async upload(
    name: string,
    limit = this.limits.fileBytes,
  ): Promise<{ file: UploadedFile | undefined; fields: Record<string, unknown> }> {
    if (!isMultipart(this.headers.contentType)) return { file: undefined, fields: await this.fields() };
    if ((this.incoming.declaredBytes ?? 0) > limit + this.limits.memoryBytes) {
      throw tooLarge(`The body is larger than ${limit} bytes.`);
    }
    const form = await this.readForm(this.limits.memoryBytes);
    const file = form.files.get(name);
    if (file && file.bytes > limit) throw tooLarge(`The file is larger than ${limit} bytes.`);
    return { file, fields: form.fields };
  }
}

async function* single(chunk: Promise<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield await chunk;
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
