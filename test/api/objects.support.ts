import type { Session } from "../../src/access/sessions.js";
import { apiRoutes } from "../../src/api/routes.js";
import type { Services } from "../../src/api/services.js";
import { CatalogReader } from "../../src/catalog/catalog.js";
import { systemClock } from "../../src/clock.js";
import { badRequest } from "../../src/errors.js";
import { wholeText } from "../../src/features/json-text.js";
import { parseParameters } from "../../src/http/query.js";
import type { Body, Method, Request } from "../../src/http/types.js";
import { Slices } from "../../src/queues/slices.js";
import type { Database } from "../../src/storage/postgres.js";

/** The handlers of objects over a real database; HTTP, the catalogue's cache and Redis have tests of their own. */

export interface Asked {
  readonly query?: string;
  readonly body?: unknown;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

export interface ObjectsApi {
  readonly sessions: Map<string, Session>;
  /** Receipts of the transactions that nodes were to hear of before the answer. */
  readonly propagated: (string | undefined)[];
  /** The parsed answer of a request below `/api/2.8/p/m/layers/`. */
  call(method: Method, path: string, asked?: Asked): Promise<unknown>;
  /** The refusal that the request meets: its kind or code. */
  refusal(method: Method, path: string, asked?: Asked): Promise<string>;
}

export function objectsApi(db: Database): ObjectsApi {
  const sessions = new Map<string, Session>();
  const propagated: (string | undefined)[] = [];
  const services = {
    db,
    config: { publicTimeoutMs: 10_000 },
    // None of these operations shows statistics.
    visuals: { noting: () => undefined },
    // Nothing is limited, as without settings.
    limits: { applies: () => false },
    slices: new Slices(systemClock),
    catalog: new CatalogReader(db, ""),
    sessions: { find: async (token: string) => sessions.get(token) },
    // There is no CDN, and the database is there.
    toldMarks: { isWaitedFor: false },
    versions: { watchProof: () => () => undefined },
    changes: {
      propagate: async (receipt?: string) => {
        propagated.push(receipt);
      },
    },
    fullProjects: { requireRoom: () => undefined },
  } as unknown as Services;

  const call = async (method: Method, path: string, asked: Asked = {}): Promise<unknown> => {
    const full = path.startsWith("/api") ? path : `/api/2.8/p/m/layers/${path}`;
    const segments = full.split("/");
    for (const route of apiRoutes) {
      const pattern = route.path.split("/");
      if (!route.methods.includes(method) || pattern.length !== segments.length) continue;
      if (!pattern.every((part, index) => part.startsWith(":") || part === segments[index])) continue;
      const params: Record<string, string> = {};
      pattern.forEach((part, index) => {
        if (part.startsWith(":")) params[part.slice(1)] = decodeURIComponent(segments[index] ?? "");
      });
      const reply = await route.handler(requestOf(method, full, params, asked), services);
      if (reply.kind === "json") return JSON.parse(JSON.stringify(reply.value));
      if (reply.kind === "json_text") return JSON.parse(wholeText(reply.text));
      if (reply.kind === "bytes") return JSON.parse(String(reply.body));
      let text = "";
      for await (const chunk of reply.chunks) text += chunk;
      return JSON.parse(text);
    }
    throw new Error(`no route for ${method} ${path}`);
  };

  return {
    sessions,
    propagated,
    call,
    async refusal(method, path, asked) {
      try {
        await call(method, path, asked);
      } catch (error) {
        const { code, kind } = error as { code?: string; kind?: string };
        return code ?? kind ?? String(error);
      }
      return "none";
    },
  };
}

function requestOf(method: Method, path: string, params: Record<string, string>, asked: Asked): Request {
  const query = parseParameters(asked.query ?? "");
  const text = asked.body === undefined ? "" : JSON.stringify(asked.body);
  const bytes = Buffer.byteLength(text);
  const headers: Record<string, string> = {};
  if (text !== "") {
    headers["content-type"] = "application/json";
    headers["content-length"] = String(bytes);
  }
  if (asked.token) headers["x-token"] = asked.token;
  const body = {
    limits: { bytes, earlyBytes: bytes, members: 100, values: 100 },
    receivedBytes: bytes,
    length: async () => bytes,
    json: async () => {
      if (text === "") throw badRequest("The body is empty.");
      return JSON.parse(text);
    },
    fields: async () => (text === "" ? {} : JSON.parse(text)),
  } as unknown as Body;
  return {
    id: "r",
    method,
    path,
    params,
    query: { get: (name) => query.get(name), has: (name) => query.has(name), names: () => query.keys() },
    rawQuery: asked.query ?? "",
    header: (name) => headers[name],
    body,
    remoteAddress: "127.0.0.1",
    baseUrl: "",
    signal: asked.signal ?? new AbortController().signal,
  };
}
