import { matchesEtag } from "../../http/headers.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import type { PageFile } from "../../viewer/page-files.js";

/** Files of our own pages as answers. */

/** For what may be another file tomorrow under the same address. */
export const revalidate = "public, max-age=0, must-revalidate";
/** For addresses that hold a build: they always mean the same bytes. */
export const forever = "public, max-age=31536000, immutable";

/**
 * Nothing but our own: no inline code, no foreign address, no plug-ins, no framing by other sites.
 * @param styles sources of styles besides our own files
 */
export const ownContent = (styles = ""): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${styles && ` ${styles}`}`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join("; ");

export interface PageRules {
  readonly cacheControl: string;
  readonly contentSecurityPolicy: string;
}

/** The file, or that the client has it already. */
export function pageReply(request: Request, file: PageFile, rules: PageRules): Reply {
  const headers: Headers = {
    "content-type": file.type,
    etag: file.etag,
    "cache-control": rules.cacheControl,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": rules.contentSecurityPolicy,
  };
  if (matchesEtag(request.header("if-none-match") ?? "", file.etag)) {
    return { kind: "bytes", status: 304, body: "", headers };
  }
  return { kind: "bytes", body: file.body, headers };
}
