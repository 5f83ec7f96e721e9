import { notFound } from "../../errors.js";
import type { Route } from "../../http/types.js";
import type { DocsFiles } from "../../viewer/docs.js";
import { openApi } from "../request/openapi.js";
import { type Operation, operation } from "../request/operation.js";
import { prefixOf } from "../request/paths.js";
import type { Services } from "../services.js";
import { immutable, ownContent, pageReply, revalidate } from "./pages.js";

/** The OpenAPI document at `/openapi.json`, and Swagger UI at `/docs/`. */

/** Swagger UI needs inline styles; scripts and requests are limited to this origin. */
const contentSecurityPolicy = ownContent("'unsafe-inline'");

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
    handle: ({ baseUrl }, { config }) => ({
      kind: "json",
      value: openApi([...others, own], { server: baseUrl, config }),
      headers: { "cache-control": "no-cache" },
    }),
  });
  return own;
}

/** Routes of the documentation page. */
export function docsRoutesOf(table: DocsFiles): Route<Services>[] {
  return [
    {
      methods: ["GET"],
      path: "/docs/",
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
      path: "/docs/:build/:file",
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
