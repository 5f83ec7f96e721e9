import type { IncomingMessage } from "node:http";
import { eitherSignal } from "../either-signal.js";
import { Outbound, reasonOf, SourceError } from "./outbound.js";

/** Gets images from servers of others. */

export interface FetchOptions {
  /** `host` or `host:port` of the servers that may be asked, in redirects too. */
  readonly hosts: readonly string[];
  /** Whether servers may have addresses of private networks. */
  readonly privateAddresses: boolean;
  /** For one image, with redirects. */
  readonly deadlineMs: number;
  /** Most bytes of an image. */
  readonly maxBytes: number;
  /** Connections to one server. */
  readonly connections: number;
}

export interface FetchedImage {
  /** Undefined: the server says that there is nothing. */
  readonly bytes: Uint8Array | undefined;
  /** How long the server says that it stays the same; undefined = it does not say. */
  readonly maxAgeSeconds: number | undefined;
}

/** Answers that say that there is nothing at this place. */
const nothing: ReadonlySet<number> = new Set([204, 404, 410]);

export class ImageFetcher {
  private readonly outbound: Outbound;

  constructor(private readonly options: FetchOptions) {
    const accept = "image/png,image/webp,image/jpeg";
    this.outbound = new Outbound({ ...options, setting: "externalHosts", accept });
  }

  /**
   * @param mayBeMissing whether "not found" means that there is nothing at this place
   * @param cancelled when nobody waits for it any more
   * @throws SourceError
   */
  async fetch(address: string, mayBeMissing: boolean, cancelled: AbortSignal): Promise<FetchedImage> {
    const { signal, release } = eitherSignal([AbortSignal.timeout(this.options.deadlineMs), cancelled]);
    try {
      return await this.image(address, mayBeMissing, signal);
    } finally {
      release();
    }
  }

  /** Ends all connections. */
  close(): void {
    this.outbound.close();
  }

  private async image(address: string, mayBeMissing: boolean, signal: AbortSignal): Promise<FetchedImage> {
    const { answer } = await this.outbound.get(address, signal);
    const status = answer.statusCode ?? 0;
    const maxAgeSeconds = maxAgeOf(answer.headers["cache-control"]);
    if (mayBeMissing && nothing.has(status)) {
      answer.destroy();
      return { bytes: undefined, maxAgeSeconds };
    }
    if (status !== 200) {
      answer.destroy();
      throw new SourceError(`it answers ${status}`);
    }
    return { bytes: await this.body(answer), maxAgeSeconds };
  }

  private async body(answer: IncomingMessage): Promise<Uint8Array> {
    const { maxBytes } = this.options;
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > maxBytes) throw new SourceError(`its image has more than ${maxBytes} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      answer.destroy();
      if (error instanceof SourceError) throw error;
      throw new SourceError(reasonOf(error as Error), { cause: error });
    }
    if (!answer.complete) throw new SourceError("its image ends too early");
    const bytes = Buffer.concat(chunks);
    if (!isImage(bytes)) throw new SourceError("what it sends is no PNG, JPEG or WebP");
    return bytes;
  }
}

/** By the first bytes, whatever the server says. */
function isImage(bytes: Buffer): boolean {
  const text = bytes.toString("latin1", 0, 12);
  return (
    text.startsWith("\x89PNG\r\n\x1a\n") || text.startsWith("\xff\xd8\xff") || /^RIFF....WEBP/s.test(text)
  );
}

function maxAgeOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (/\bno-(?:store|cache)\b/i.test(header)) return 0;
  const seconds = /\bmax-age\s*=\s*"?(\d{1,10})/i.exec(header)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
