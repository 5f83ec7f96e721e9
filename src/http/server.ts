import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import * as uws from "uWebSockets.js";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { type CachedReply, mayBeCached, sendCached } from "./cached.js";
import { errorPage } from "./errors.js";
import { answerRequest, type ExchangeContext } from "./exchange.js";
import { createForwardedReader, pathPrefix } from "./forwarded.js";
import { answerLines, ownHeaders } from "./headers.js";
import { readHead } from "./request.js";
import { createRouter } from "./router.js";
import { statusLine } from "./status.js";
import type { Route } from "./types.js";
import { sweepUploads } from "./uploads.js";

/** Route name under which answers of `ServerOptions.cached` are counted. */
export const cachedRoute = "(cached)";

export interface ServerOptions<S> {
  readonly routes: readonly Route<S>[];
  readonly services: S;
  readonly log: Log;
  readonly config: Pick<Config, "baseUrl" | "trustedProxies" | "dataDir" | "maxBodyBytes" | "maxUploadBytes">;
  /**
   * Asked first for GET and HEAD, before anything is parsed: path and query ("" when there is none) as they came. A
   * public answer that is ready, or undefined. Not asked when a header carries a token; a token in the query makes
   * another address, which must never have an answer here.
   */
  readonly cached?: (path: string, query: string) => CachedReply | undefined;
  /** Called once for each answer: path of its route ("" = none, `cachedRoute`), method, status (499 = client left), ms. */
  readonly onAnswered?: (route: string, method: string, status: number, ms: number) => void;
}

export interface ListenOptions {
  /** Lets other processes of this user listen on the port as well (SO_REUSEPORT). Default: no. */
  readonly shared?: boolean;
}

export interface Server {
  /**
   * Starts listening; port 0 takes a free one, which cannot be shared.
   * @returns the port
   * @throws Error when the address cannot be had
   */
  listen(host: string, port: number, options?: ListenOptions): Promise<number>;
  /** Stops accepting, lets running requests end within `deadlineMs`, then closes every connection. */
  close(deadlineMs: number): Promise<void>;
  /** Requests that are being answered. */
  openRequests(): number;
}

/** The library's type leaves out the form with all four arguments. */
type ListenOn = (
  host: string,
  port: number,
  options: number,
  cb: (socket: uws.us_listen_socket | false) => void,
) => void;

/** LIBUS_LISTEN_EXCLUSIVE_PORT, which the library's types declare as an enum without exporting it. */
const exclusivePort = 1;

/** Time for the last bytes of answers, which the library sends on its own without telling when it is done. */
const flushMs = 100;

/** An HTTP server over a route table. Nothing outside this folder knows the library that it runs on. */
export function createServer<S>(options: ServerOptions<S>): Server {
  const { log, config, cached, onAnswered } = options;
  const context: ExchangeContext<S> = {
    router: createRouter(options.routes),
    services: options.services,
    log,
    forwarded: createForwardedReader(config.baseUrl, config.trustedProxies),
    prefix: pathPrefix(config.baseUrl),
    tempDir: join(config.dataDir, "tmp"),
    maxBodyBytes: config.maxBodyBytes,
    maxUploadBytes: config.maxUploadBytes,
  };
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
    // What went as it should is told to those who want to hear it: a viewer's visit is hundreds of lines.
    if (status < 400 && !logsSuccess) return;
    log[status < 400 ? "debug" : "info"](
      { request: id, method: head.method, path: head.path.slice(0, 500), status, ms: Math.round(ms) },
      "request",
    );
  };

  const answer = (res: HttpResponse, req: HttpRequest): void => {
    const started = performance.now();
    const id = `${idPrefix}-${(++requests).toString(36)}`;
    const head = readHead(req);
    if (head.unframed) {
      refuseUnframed(res, id);
      finish("", head, 400, id, performance.now() - started);
      return;
    }
    open++;
    answerRequest(context, { id, res, head, last: closing })
      .then(({ route, status }) => {
        open--;
        if (open === 0) drained?.();
        finish(route, head, status, id, performance.now() - started);
      })
      .catch((error: unknown) => log.error({ err: error, request: id }, "a request could not be counted"));
  };

  /** A cache that fails is a miss. */
  const lookUp = (path: string, query: string): CachedReply | undefined => {
    try {
      return cached?.(path, query);
    } catch (error) {
      log.error({ err: error }, "looking up a cached answer failed");
      return undefined;
    }
  };

  const answerGet = (method: "GET" | "HEAD") => (res: HttpResponse, req: HttpRequest) => {
    // While closing, answers ask their clients to go, which prebuilt ones do not.
    if (!closing && mayBeCached(req)) {
      const path = req.getUrl();
      const reply = lookUp(path, req.getQuery() ?? "");
      if (reply) {
        const status = sendCached(res, req, reply, method === "HEAD");
        onAnswered?.(cachedRoute, method, status, 0);
        if (logsSuccess) log.debug({ method, path, status }, "cached");
        return;
      }
    }
    answer(res, req);
  };

  silence();
  const app = uws.App();
  if (cached) {
    app.get("/*", answerGet("GET"));
    app.head("/*", answerGet("HEAD"));
  }
  app.any("/*", answer);

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
  };
}

/**
 * Answers 400 and closes in the same tick, so that nothing behind an ambiguous head is ever read as a request. The
 * library closes at once only what it has sent already, and it sends at once only what exceeds its cork buffer: the
 * page is padded beyond that.
 */
function refuseUnframed(res: HttpResponse, id: string): void {
  res.onAborted(() => undefined);
  const page = errorPage(400, "The request leaves open where its body ends.");
  res.writeStatus(statusLine(400));
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
  const lines = answerLines(headers, ownHeaders(id, false));
  const colon = lines.indexOf(": ");
  res.writeHeader(lines.slice(0, colon), lines.slice(colon + 2));
  res.end(page.padEnd(17_000, " "), true);
}

/** Keeps the library's name and version out of answers; it has this switch, but no type for it. */
function silence(): void {
  const hidden = uws as unknown as { _cfg?: (key: string) => void };
  hidden._cfg?.("silent");
}
