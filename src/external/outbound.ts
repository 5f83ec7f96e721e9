import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { isPublicAddress, lookupPublic } from "./addresses.js";

/** Asks servers of others, which may be slow, broken or hostile, and none but those that it may. */

export interface OutboundOptions {
  /** `host` or `host:port` of the servers that may be asked, in redirects too; undefined = all. */
  readonly hosts: readonly string[] | undefined;
  /** The setting that has them. */
  readonly setting: string;
  /** Whether servers may have addresses of private networks. */
  readonly privateAddresses: boolean;
  /** Connections to one server. */
  readonly connections: number;
  /** Header of what is wanted. */
  readonly accept: string;
}

/** It did not come. The message says why, after "it" or the host. */
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

export class Outbound {
  private readonly http: HttpAgent;
  private readonly https: HttpsAgent;
  private readonly hosts: ReadonlySet<string> | undefined;

  constructor(private readonly options: OutboundOptions) {
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
    this.hosts = hosts && new Set(hosts.map((host) => host.toLowerCase()));
  }

  /**
   * Asks for an address, and for that which it redirects to.
   * @returns the answer, whose body is to be read or destroyed, and the address that it is of
   * @throws SourceError
   */
  async get(
    address: string,
    signal: AbortSignal,
  ): Promise<{ readonly answer: IncomingMessage; readonly url: URL }> {
    let url = this.allowed(address, undefined);
    for (let hop = 0; ; hop++) {
      const answer = await this.request(url, signal);
      if (!redirects.has(answer.statusCode ?? 0)) return { answer, url };
      answer.destroy();
      if (hop === maxRedirects) throw new SourceError("it redirects too often");
      url = this.allowed(answer.headers.location ?? "", url);
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
      throw new SourceError(base ? "it redirects to no address" : "the link is no address");
    }
    const isWeb = url.protocol === "http:" || url.protocol === "https:";
    const isPlain = isWeb && url.username === "" && url.password === "";
    if (!this.hosts && !isPlain)
      throw new SourceError("only addresses of http and https are asked for, without a password");
    if (!isPlain || (this.hosts && !this.hosts.has(url.host)))
      throw new SourceError(`${url.host} is not among the installation's ${this.options.setting}`);
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
          accept: this.options.accept,
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
      // An answer that changes the protocol, which nobody has asked for, is none.
      sent.on("close", () => reject(new SourceError("it gives no answer")));
      sent.end();
    });
  }
}

/** In words of those who wrote an address, by codes of the system. */
const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: "no server has that name",
  EAI_AGAIN: "its name cannot be looked up just now",
  ECONNREFUSED: "no server answers there",
  ECONNRESET: "its server has closed the connection",
};

export function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.name === "AbortError" || error.name === "TimeoutError") return "it takes too long";
  return reasons[error.code ?? ""] ?? error.message;
}
