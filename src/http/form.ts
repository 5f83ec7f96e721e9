import { badRequest, tooLarge } from "../errors.js";
import type { IncomingBody } from "./incoming.js";
import { decodeUtf8 } from "./json.js";
import { boundaryOf, MultipartParser } from "./multipart.js";
import type { UploadedFile } from "./types.js";
import type { GrowingFile, TempFiles } from "./uploads.js";

/** Reads a multipart body: fields into memory, files to disk, at the speed of the disk. */

export interface Form {
  /** Without prototype; of repeated names the first counts. */
  readonly fields: Record<string, unknown>;
  /** The first file of each name. */
  readonly files: ReadonlyMap<string, UploadedFile>;
}

export interface FormLimits {
  /** Bytes of all fields together. */
  readonly fieldBytes: number;
  /** Bytes of the whole body. */
  readonly totalBytes: number;
}

/** Files of further names are read past. */
const maxFiles = 8;

/**
 * @throws Failure bad_request, too_large
 * @throws ClientLeft
 */
export async function readForm(
  body: IncomingBody,
  contentType: string,
  limits: FormLimits,
  temp: TempFiles,
): Promise<Form> {
  const parser = new MultipartParser(boundaryOf(contentType));
  const fields: Record<string, unknown> = Object.create(null);
  const files = new Map<string, UploadedFile>();
  let fieldBytes = 0;
  let name = "";
  let value: Buffer[] | undefined;
  let file: GrowingFile | undefined;

  const endPart = async () => {
    if (file) {
      await file.close();
      // A file input that was left empty sends a part with an empty name.
      if (file.bytes > 0 || file.clientName !== "") files.set(name, file);
      file = undefined;
    } else if (value) {
      const text = decodeUtf8(Buffer.concat(value));
      if (text.includes("\0")) throw badRequest("A field holds a NUL character.");
      if (!(name in fields)) fields[name] = text;
      value = undefined;
    }
  };

  try {
    for await (const chunk of body.chunks(limits.totalBytes)) {
      for (const event of parser.push(chunk)) {
        if (event.kind === "part") {
          name = event.name;
          if (event.filename === undefined) value = [];
          else if (!files.has(name) && files.size < maxFiles) file = await temp.open(event.filename);
        } else if (event.kind === "end") {
          await endPart();
        } else if (file) {
          await file.write(event.bytes);
        } else if (value) {
          fieldBytes += event.bytes.length;
          if (fieldBytes > limits.fieldBytes)
            throw tooLarge(`The fields are larger than ${limits.fieldBytes} bytes.`);
          value.push(event.bytes);
        }
      }
    }
    parser.finish();
  } finally {
    await file?.close();
  }
  return { fields, files };
}
