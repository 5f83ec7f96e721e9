import { notFound } from "../errors.js";
import type { Headers, Reply, Request, Route } from "../http/types.js";
import type { ViewerFile, ViewerFiles } from "../viewer/files.js";
import { publishedMaps } from "../viewer/maps.js";
import type { Services } from "./services.js";

/** The map page at `/`, its files, and the list of maps that it offers. */

/** Nothing but our own: no inline code, no foreign address, no plug-ins, no framing by other sites. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");

const revalidate = "public, max-age=0, must-revalidate";
const forever = "public, max-age=31536000, immutable";

/** Whether an If-None-Match header names the tag, weakly compared (RFC 9110, 13.1.2). */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((tag) => {
    const trimmed = tag.trim();
    return trimmed === "*" || trimmed.replace(/^W\//, "") === etag;
  });
}

function fileReply(request: Request, file: ViewerFile, cacheControl: string): Reply {
  const headers: Headers = {
    "content-type": file.type,
    etag: file.etag,
    "cache-control": cacheControl,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": contentSecurityPolicy,
  };
  if (matches(request.header("if-none-match"), file.etag)) {
    return { kind: "bytes", status: 304, body: "", headers };
  }
  return { kind: "bytes", body: file.body, headers };
}

/** The routes over a table of files; `loadViewerFiles()` reads it. */
export function viewerRoutesOf(table: ViewerFiles): Route<Services>[] {
  /** A file of another build (a page opened before an update) is answered with today's, and not kept. */
  const built = (request: Request, name: string): Reply => {
    const file = table.files.get(name);
    if (!file) throw notFound(`file "${name}" of the viewer`);
    return fileReply(request, file, request.params.build === table.build ? forever : revalidate);
  };
  return [
    {
      methods: ["GET"],
      path: "/",
      handler: (request) => fileReply(request, table.index, revalidate),
    },
    {
      methods: ["GET"],
      path: "/favicon.ico",
      handler: (request) => {
        const icon = table.files.get("favicon.svg");
        if (!icon) throw notFound("icon");
        return fileReply(request, icon, revalidate);
      },
    },
    {
      methods: ["GET"],
      path: "/viewer/maps.json",
      handler: async (request, services) => ({
        kind: "json",
        value: await publishedMaps(services.db, request.query.get("lng") ?? "en"),
        headers: { "cache-control": "no-cache" },
      }),
    },
    {
      methods: ["GET"],
      path: "/viewer/:build/:file",
      handler: (request) => built(request, request.params.file ?? ""),
    },
    {
      methods: ["GET"],
      path: "/viewer/:build/:folder/:file",
      handler: (request) => built(request, `${request.params.folder}/${request.params.file}`),
    },
  ];
}
