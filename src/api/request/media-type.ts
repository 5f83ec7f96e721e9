import type { Request } from "../../http/types.js";

/** Media type of a request body. */

/** Media type of forms with files. */
export const multipart = "multipart/form-data";

/** The Content-Type without its parameters, in lower case. */
export const mediaType = (request: Request): string =>
  (request.header("content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
