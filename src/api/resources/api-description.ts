import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { LRUCache } from "lru-cache";
import { notFound } from "../../errors.js";
import type { Route } from "../../http/types.js";
import type { ApiPageFiles } from "../../viewer/api-page.js";
import { type PageFile, pageFile } from "../../viewer/page-files.js";
import { openApi } from "../request/openapi.js";
import { type Operation, operation } from "../request/operation.js";
import { prefixOf } from "../request/paths.js";
import type { Services } from "../services.js";
import { immutable, ownContent, pageReply, revalidate } from "./pages.js";

/** The OpenAPI document at `/openapi.json`, and Swagger UI at `/docs/api/`. */

/** Swagger UI needs inline styles; scripts and requests are limited to this origin. */
const contentSecurityPolicy = ownContent({ styles: "'unsafe-inline'" });

/** The operation that returns the OpenAPI document of the given operations and of itself. */
export function descriptionOperation(others: readonly Operation[]): Operation {
  const own: Operation = operation({
    id: "describe",
    tag: "Server",
    summary: "Get this API description",
    methods: ["GET"],
    path: "/openapi.json",
    answer: {
      description: "An OpenAPI 3.1 document.",
      content: { "application/json": { type: "object", required: ["openapi", "info", "paths"] } },
    },
    handle: async (request, { config }) => {
      const { baseUrl } = request;
      let file = files.get(baseUrl);
      if (!file) {
        parts ??= JSON.stringify(openApi([...others, own], { server: here, config })).split(
          JSON.stringify(here),
        );
        file = describedFile(parts.join(JSON.stringify(baseUrl)));
        file.catch(() => files.delete(baseUrl));
        files.set(baseUrl, file);
      }
      return pageReply(request, await file, { cacheControl: "no-cache", contentSecurityPolicy });
    },
  });
  /** The document, cut where the address of the server stands. */
  let parts: string[] | undefined;
  /** By that address. */
  const files = new LRUCache<string, Promise<PageFile>>({ max: 8 });
  return own;
}

/** Stands for the address of the server. */
const here = "https://this.server.invalid";
const compress = promisify(brotliCompress);

async function describedFile(text: string): Promise<PageFile> {
  const body = Buffer.from(text);
  // A better compression takes ten times as long, and a name of this server that nobody asked for before may be made up.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  return { ...pageFile("openapi.json", body), brotli: await compress(body, { params }) };
}

/** Routes of the page of the API. */
export function apiPageRoutesOf(table: ApiPageFiles): Route<Services>[] {
  return [
    {
      methods: ["GET"],
      path: "/docs/api/",
      handler: ({ baseUrl }) => ({
        kind: "bytes",
        body: table.page(prefixOf(baseUrl)),
        headers: {
          "content-type": "text/html; charset=utf-8",
          "cache-control": "no-cache",
          "content-security-policy": contentSecurityPolicy,
        },
      }),
    },
    {
      methods: ["GET"],
      path: "/docs/api/:build/:file",
      handler: (request) => {
        const { build, file: name = "" } = request.params;
        const file = table.files.get(name);
        if (!file) throw notFound(`file "${name}" of this page`);
        const cacheControl = build === table.build ? immutable : revalidate;
        return pageReply(request, file, { cacheControl, contentSecurityPolicy });
      },
    },
  ];
}
