import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { isPublicAddress, lookupPublic } from "./addresses.js";

/** Gets images from servers of others, which may be slow, broken or hostile. */

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

/** The image did not come. Its message is for the log. */
export class SourceError extends Error {
  /** Whether the server could not be reached, whatever it was asked for. */
  readonly isUnreachable: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isUnreachable?: boolean } = {}) {
    super(message, options);
    this.name = "SourceError";
    this.isUnreachable = options.isUnreachable ?? false;
  }
}

const maxRedirects = 3;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Answers that say that there is nothing at this place. */
const nothing: ReadonlySet<number> = new Set([204, 404, 410]);

export class ImageFetcher {
  private readonly http: HttpAgent;
  private readonly https: HttpsAgent;
  private readonly hosts: ReadonlySet<string>;

  constructor(private readonly options: FetchOptions) {
    const { connections, privateAddresses, hosts } = options;
    const agent = {
      keepAlive: true,
      maxSockets: connections,
      maxFreeSockets: connections,
      timeout: 30_000,
      ...(privateAddresses ? {} : { lookup: lookupPublic }),
    };
    this.http = new HttpAgent(agent);
    this.https = new HttpsAgent(agent);
    this.hosts = new Set(hosts.map((host) => host.toLowerCase()));
  }

  /**
   * @param mayBeMissing whether "not found" means that there is nothing at this place
   * @param cancelled when nobody waits for it any more
   * @throws SourceError
   */
  async fetch(address: string, mayBeMissing: boolean, cancelled: AbortSignal): Promise<FetchedImage> {
    const signal = AbortSignal.any([AbortSignal.timeout(this.options.deadlineMs), cancelled]);
    let url = this.allowed(address, undefined);
    for (let hop = 0; ; hop++) {
      const answer = await this.request(url, signal);
      const status = answer.statusCode ?? 0;
      if (redirects.has(status)) {
        answer.destroy();
        if (hop === maxRedirects) throw new SourceError("it redirects too often");
        url = this.allowed(answer.headers.location ?? "", url);
        continue;
      }
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
  }

  /** Ends all connections. */
  close(): void {
    this.http.destroy();
    this.https.destroy();
  }

  private allowed(address: string, base: URL | undefined): URL {
    let url: URL;
    try {
      url = new URL(address, base);
    } catch {
      throw new SourceError("it redirects to no address");
    }
    const isWeb = url.protocol === "http:" || url.protocol === "https:";
    if (!isWeb || url.username !== "" || url.password !== "" || !this.hosts.has(url.host))
      throw new SourceError(`${url.host} is not among the installation's externalHosts`);
    // Names are looked up when the connection is made; addresses are not.
    const literal = url.hostname.replace(/^\[|\]$/g, "");
    if (!this.options.privateAddresses && isIP(literal) !== 0 && !isPublicAddress(literal))
      throw new SourceError(`${url.host} has no public address`);
    return url;
  }

  private request(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const isSecure = url.protocol === "https:";
    const request = isSecure ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const sent = request(url, {
        agent: isSecure ? this.https : this.http,
        signal,
        headers: {
          accept: "image/png,image/webp,image/jpeg",
          "accept-encoding": "identity",
          "user-agent": "Mapwright",
        },
      });
      // Also after the answer has begun: the error of a body is that of its answer.
      let isConnected = false;
      sent.on("socket", (socket) => {
        const connected = () => {
          isConnected = true;
        };
        if (socket.connecting) socket.once("connect", connected);
        else connected();
      });
      sent.on("error", (error) =>
        reject(new SourceError(reasonOf(error), { cause: error, isUnreachable: !isConnected })),
      );
      sent.on("response", resolve);
      sent.end();
    });
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

const reasonOf = (error: Error): string =>
  error.name === "AbortError" || error.name === "TimeoutError" ? "it takes too long" : error.message;

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
