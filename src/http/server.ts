import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import * as uws from "uWebSockets.js";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { BodyQueue } from "./body-queue.js";
import { type CachedReply, cachedRoute, mayBeCached, sendCached, takes } from "./cached.js";
import { errorPage } from "./errors.js";
import { type ExchangeContext, handleRequest } from "./exchange.js";
import { createForwardedReader, pathPrefix } from "./forwarded.js";
import { asksToClose, baseHeaders, responseHeaders } from "./headers.js";
import { Receiving } from "./receiving.js";
import { readHead } from "./request.js";
import { RequestQueue } from "./request-queue.js";
import { createRouter } from "./router.js";
import { statusLine } from "./status.js";
import { TempSpace } from "./temp-space.js";
import type { Route } from "./types.js";
import { sweepUploads } from "./uploads.js";

export interface ServerOptions<S> {
  readonly routes: readonly Route<S>[];
  readonly services: S;
  readonly log: Log;
  readonly config: Pick<
    Config,
    "baseUrl" | "trustedProxies" | "dataDir" | "maxBodyBytes" | "maxUploadBytes" | "receiving"
  >;
  /**
   * Called first for GET and HEAD with the raw path and query ("" when there is none). Returns a cached public response, or
   * undefined. Not called when a header has a token; a URL with a token in the query must never be cached here.
   */
  readonly cached?: (path: string, query: string) => CachedReply | undefined;
  /** Called once per response: path of the route ("" = none, `cachedRoute`), method, status (499 = client disconnected), ms. */
  readonly onAnswered?: (route: string, method: string, status: number, ms: number) => void;
}

export interface ListenOptions {
  /** Lets other processes of this user listen on the same port (SO_REUSEPORT). Default: false. */
  readonly shared?: boolean;
}

export interface Server {
  /**
   * Starts listening; port 0 chooses a free port, which cannot be shared.
   * @returns the port
   * @throws Error when the address is in use or not available
   */
  listen(host: string, port: number, options?: ListenOptions): Promise<number>;
  /** Goes on as before, but ends each connection with its next answer, so that clients come by another one. */
  drain(): void;
  /** Stops accepting connections, waits up to `deadlineMs` for running requests, then closes all connections. */
  close(deadlineMs: number): Promise<void>;
  /** Number of requests in progress. */
  openRequests(): number;
  /** What bodies take in memory and uploaded files on disk, and how many were refused for it since the start. */
  received(): { readonly memory: Held; readonly files: Held };
}

interface Held {
  readonly bytes: number;
  readonly refused: number;
}

/** Signature with four arguments, which the library's types lack. */
type ListenOn = (
  host: string,
  port: number,
  options: number,
  cb: (socket: uws.us_listen_socket | false) => void,
) => void;

/** LIBUS_LISTEN_EXCLUSIVE_PORT, which the library's types declare but do not export. */
const exclusivePort = 1;

/** Time for the library to flush the last bytes of responses, which it does not report. */
const flushMs = 100;

/** Creates an HTTP server for a route table. Only this folder depends on the server library. */
export function createServer<S>(options: ServerOptions<S>): Server {
  const { log, config, cached, onAnswered } = options;
  const tempDir = join(config.dataDir, "tmp");
  /** A cache that fails is a miss. */
  const lookUp = (path: string, query: string): CachedReply | undefined => {
    try {
      return cached?.(path, query);
    } catch (error) {
      log.error({ err: error }, "looking up a cached answer failed");
      return undefined;
    }
  };

  const context: ExchangeContext<S> = {
    cached: lookUp,
    router: createRouter(options.routes),
    services: options.services,
    log,
    forwarded: createForwardedReader(config.baseUrl, config.trustedProxies),
    prefix: pathPrefix(config.baseUrl),
    tempDir,
    maxBodyBytes: config.maxBodyBytes,
    maxUploadBytes: config.maxUploadBytes,
    receiving: new Receiving(config.receiving.memoryBytes),
    bodyQueue: new BodyQueue(),
    tempSpace: new TempSpace(tempDir, {
      bytes: config.receiving.fileBytes,
      freeBytes: config.receiving.freeBytes,
    }),
  };
  const requestQueue = new RequestQueue();
  const idPrefix = randomBytes(4).toString("hex");
  let requests = 0;
  let open = 0;
  let closing = false;
  let drained: (() => void) | undefined;
  let socket: uws.us_listen_socket | undefined;
  const logsSuccess = log.isLevelEnabled("debug");

  const finish = (
    route: string,
    head: { method: string; path: string },
    status: number,
    id: string,
    ms: number,
  ) => {
    onAnswered?.(route, head.method, status, ms);
    // Successful requests are logged at level debug: opening a map makes hundreds of them.
    if (status < 400 && !logsSuccess) return;
    log[status < 400 ? "debug" : "info"](
      { request: id, method: head.method, path: head.path.slice(0, 500), status, ms: Math.round(ms) },
      "request",
    );
  };

  const answer = (res: HttpResponse, req: HttpRequest, waits = requestQueue.isTurnSpent()): void => {
    const started = performance.now();
    const id = `${idPrefix}-${(++requests).toString(36)}`;
    const head = readHead(req);
    const asked = asksToClose(head.headers.get("connection"));
    if (head.hasAmbiguousLength) {
      refuseAmbiguousLength(res, id, asked);
      finish("", head, 400, id, performance.now() - started);
      return;
    }
    open++;
    handleRequest(context, { id, res, head, last: closing || asked }, waits ? requestQueue : undefined)
      .then(({ route, status }) => {
        open--;
        if (open === 0) drained?.();
        finish(route, head, status, id, performance.now() - started);
      })
      .catch((error: unknown) =>
        log.error({ err: error, request: id }, "a finished request could not be recorded"),
      );
  };

  const answerGet = (method: "GET" | "HEAD") => (res: HttpResponse, req: HttpRequest) => {
    const waits = requestQueue.isTurnSpent();
    if (!waits && mayBeCached(req)) {
      const path = req.getUrl();
      const reply = lookUp(path, req.getQuery() ?? "");
      if (reply && takes(req, reply)) {
        const status = sendCached(res, req, reply, { head: method === "HEAD", last: closing });
        onAnswered?.(cachedRoute, method, status, 0);
        if (logsSuccess) log.debug({ method, path, status }, "cached");
        return;
      }
    }
    answer(res, req, waits);
  };

  hideServerHeader();
  const app = uws.App();
  if (cached) {
    app.get("/*", answerGet("GET"));
    app.head("/*", answerGet("HEAD"));
  }
  app.any("/*", (res, req) => answer(res, req));

  return {
    async listen(host, port, listenOptions = {}) {
      const flag = listenOptions.shared ? 0 : exclusivePort;
      const taken = await new Promise<uws.us_listen_socket | false>((resolve) => {
        (app.listen as unknown as ListenOn).call(app, host, port, flag, resolve);
      });
      if (!taken)
        throw new Error(
          `cannot listen on ${host}:${port} (in use, or not an address of this machine); choose another`,
        );
      socket = taken;
      await sweepUploads(context.tempDir);
      return uws.us_socket_local_port(taken as unknown as uws.us_socket);
    },
    drain() {
      closing = true;
    },
    async close(deadlineMs) {
      if (!socket) return;
      closing = true;
      uws.us_listen_socket_close(socket);
      socket = undefined;
      if (open > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, deadlineMs);
          drained = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(flushMs, deadlineMs)));
      app.close();
    },
    openRequests: () => open,
    received: () => ({ memory: context.receiving.counts(), files: context.tempSpace.counts() }),
  };
}

/**
 * Sends 400 and closes the connection synchronously, so that no further bytes are parsed as a request. The library closes
 * immediately only when the response has been flushed, which happens immediately only when it exceeds the cork buffer;
 * therefore the page is padded. It adds `Connection: close` unless the client has asked for it.
 */
function refuseAmbiguousLength(res: HttpResponse, id: string, isAskedToClose: boolean): void {
  res.onAborted(() => undefined);
  const page = errorPage(400, "The length of the request's body is ambiguous.");
  res.writeStatus(statusLine(400));
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
  const lines = responseHeaders(headers, baseHeaders(id, isAskedToClose));
  const colon = lines.indexOf(": ");
  res.writeHeader(lines.slice(0, colon), lines.slice(colon + 2));
  res.end(page.padEnd(17_000, " "), true);
}

/** Removes the library's name and version from responses, with a switch that its types lack. */
function hideServerHeader(): void {
  const hidden = uws as unknown as { _cfg?: (key: string) => void };
  hidden._cfg?.("silent");
}
