import { badRequest, tooLarge } from "../errors.js";
import { decodeUtf8 } from "../json.js";
import type { IncomingBody } from "./incoming.js";
import { boundaryOf, MultipartParser, type PartEvent } from "./multipart.js";
import type { Admit, Form } from "./types.js";
import type { GrowingFile, TempFiles } from "./uploads.js";

/** Reads a multipart body: fields into memory, and files to disk, with backpressure. */

/** The files that a form may contain. Other files are skipped. */
export interface WantedFiles {
  /** Name of the form field. */
  readonly name: string;
  /** How many are accepted; undefined = the first is used, and others are skipped. */
  readonly most: number | undefined;
  /** Of all together. */
  readonly bytes: number;
  readonly admit: Admit;
  readonly temp: TempFiles;
}

export interface FormRules {
  readonly contentType: string;
  /** Maximum size of the body without those files. */
  readonly bytes: number;
  readonly file?: WantedFiles;
}

/**
 * @throws Failure bad_request, too_large; what `admit` throws
 * @throws ClientDisconnected
 */
export async function readForm(body: IncomingBody, rules: FormRules): Promise<Form> {
  const { contentType, bytes, file: wanted } = rules;
  const parser = new MultipartParser(boundaryOf(contentType));
  const reader = new FormReader(wanted, (passed) => body.letGo(passed));
  let received = 0;
  const check = () => {
    if (received - parser.pendingBytes - reader.keptBytes > bytes)
      throw tooLarge(`The body is larger than ${bytes} bytes.`);
  };
  try {
    for await (const chunk of body.chunks(bytes + (wanted?.bytes ?? 0))) {
      received += chunk.length;
      for (const event of parser.push(chunk)) {
        await reader.take(event);
        check();
      }
      check();
    }
    parser.finish();
  } finally {
    await reader.close();
  }
  return reader;
}

class FormReader implements Form {
  readonly fields: Record<string, unknown> = Object.create(null);
  readonly files: GrowingFile[] = [];
  fileRefused = false;
  private name = "";
  /** The current part: chunks of a field, the file, or undefined for a skipped file. */
  private part: Buffer[] | GrowingFile | undefined;
  private filesSeen = 0;

  /** @param letGo called with bytes that are not kept in memory */
  constructor(
    private readonly wanted: WantedFiles | undefined,
    private readonly letGo: (bytes: number) => void,
  ) {}

  get keptBytes(): number {
    return this.files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async take(event: PartEvent): Promise<void> {
    if (event.kind === "part") {
      this.name = event.name;
      this.part = event.filename === undefined ? [] : await this.open(event.name, event.filename);
    } else if (event.kind === "end") await this.endPart();
    else if (Array.isArray(this.part)) this.part.push(event.bytes);
    else {
      if (this.part) await this.append(this.part, event.bytes);
      this.letGo(event.bytes.length);
    }
  }

  private async open(name: string, filename: string): Promise<GrowingFile | undefined> {
    const { wanted } = this;
    if (!wanted || name !== wanted.name) return undefined;
    if (this.filesSeen >= (wanted.most ?? 1)) {
      if (wanted.most === undefined) return undefined;
      throw badRequest(`The form has more than ${wanted.most} files.`);
    }
    this.filesSeen++;
    if (await wanted.admit(this.fields)) {
      const file = await wanted.temp.open(filename);
      this.files.push(file);
      return file;
    }
    this.fileRefused = true;
    return undefined;
  }

  private async append(file: GrowingFile, bytes: Buffer): Promise<void> {
    const limit = this.wanted?.bytes ?? 0;
    if (this.keptBytes + bytes.length > limit) throw tooLarge(`The file is larger than ${limit} bytes.`);
    await file.write(bytes);
  }

  private async endPart(): Promise<void> {
    const { part, name } = this;
    this.part = undefined;
    if (Array.isArray(part)) {
      const text = decodeUtf8(Buffer.concat(part));
      if (text.includes("\0")) throw badRequest("A field contains a NUL character.");
      if (!(name in this.fields)) this.fields[name] = text;
    } else if (part) {
      await part.close();
      // An empty file input of a browser sends a part with an empty file name.
      if (part.bytes === 0 && part.clientName === "") {
        this.files.pop();
        this.filesSeen--;
      }
    }
  }

  /** Closes an unfinished file; must always be called. */
  async close(): Promise<void> {
    if (this.part && !Array.isArray(this.part)) await this.part.close();
    this.part = undefined;
  }
}
