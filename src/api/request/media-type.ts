import type { Request } from "../../http/types.js";

/** What a request says that its body is. */

/** The media type of forms that may hold files. */
export const multipart = "multipart/form-data";

/** The Content-Type without its parameters, in lower case. */
export const mediaType = (request: Request): string =>
  (request.header("content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
