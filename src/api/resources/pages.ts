import { acceptsBrotli, matchesEtag } from "../../http/headers.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import type { PageFile } from "../../viewer/page-files.js";

/** Responses with files of the built-in pages. */

/** For URLs whose content changes with updates. */
export const revalidate = "public, max-age=0, must-revalidate";
/** For URLs that contain the build id: their content never changes. */
export const immutable = "public, max-age=31536000, immutable";

/**
 * Content-Security-Policy that allows only this origin: no inline scripts, no other hosts, no plug-ins, no framing by
 * other sites.
 * @param more sources of styles and scripts besides, who may show the page in a frame, and what its addresses may be relative to
 */
export const ownContent = ({
  styles = "",
  scripts = "",
  framedBy = "'self'",
  base = "'none'",
}: {
  readonly styles?: string;
  readonly scripts?: string;
  readonly framedBy?: string;
  readonly base?: string;
} = {}): string =>
  [
    "default-src 'none'",
    `script-src 'self'${scripts && ` ${scripts}`}`,
    `style-src 'self'${styles && ` ${styles}`}`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    `base-uri ${base}`,
    "form-action 'none'",
    `frame-ancestors ${framedBy}`,
  ].join("; ");

export interface PageRules {
  readonly cacheControl: string;
  readonly contentSecurityPolicy: string;
}

const headersOf = (file: PageFile, rules: PageRules): Headers => ({
  "content-type": file.type,
  "cache-control": rules.cacheControl,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": rules.contentSecurityPolicy,
});

/** A page in place of one that there is not. */
export const missingReply = (file: PageFile, contentSecurityPolicy: string): Reply => ({
  kind: "bytes",
  status: 404,
  body: file.body,
  headers: headersOf(file, { cacheControl: "no-store", contentSecurityPolicy }),
});

/** The file, or 304 if the client has the current one. */
export function pageReply(request: Request, file: PageFile, rules: PageRules): Reply {
  const headers: Headers = { ...headersOf(file, rules), etag: file.etag };
  if (matchesEtag(request.header("if-none-match") ?? "", file.etag)) {
    return { kind: "bytes", status: 304, body: "", headers };
  }
  if (!file.brotli || !acceptsBrotli(request.header("accept-encoding")))
    return { kind: "bytes", body: file.body, headers };
  return {
    kind: "bytes",
    body: file.brotli,
    headers: {
      ...headers,
      etag: `"${file.hash}-br"`,
      "content-encoding": "br",
      vary: "Accept-Encoding",
    },
  };
}
