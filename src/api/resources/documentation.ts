import type { Documentation } from "../../docs/documentation.js";
import { notFound } from "../../errors.js";
import { prefersJson } from "../../http/accept.js";
import type { Reply, Request, Route } from "../../http/types.js";
import type { Services } from "../services.js";
import { immutable, missingReply, ownContent, pageReply, revalidate } from "./pages.js";

/** The documentation at `/docs/`. */

const contentSecurityPolicy = ownContent();

/** Routes of the pages that `loadDocumentation()` has read, and of their files. */
export function documentationRoutesOf(documentation: Documentation): Route<Services>[] {
  /** Its links are right below an address with a slash at its end only. */
  const missing = (request: Request, path: string): Reply => {
    if (!request.path.endsWith("/") || prefersJson(request.header("accept")))
      throw notFound(`page "${path}" of the documentation; /docs/ lists them`);
    return missingReply(documentation.missing, contentSecurityPolicy);
  };
  const page = (request: Request, path: string): Reply => {
    const found = documentation.pages.get(path);
    if (!found) return missing(request, path);
    // Its files and other pages are named relative to it.
    if (!request.path.endsWith("/")) {
      const location = `${request.path.slice(request.path.lastIndexOf("/") + 1)}/`;
      return { kind: "bytes", status: 308, body: "", headers: { location } };
    }
    return pageReply(request, found, { cacheControl: revalidate, contentSecurityPolicy });
  };
  return [
    { methods: ["GET"], path: "/docs/", handler: (request) => page(request, "") },
    {
      methods: ["GET"],
      path: "/docs/:folder/:page/",
      handler: (request) => page(request, `${request.params.folder}/${request.params.page}`),
    },
    {
      methods: ["GET"],
      path: "/docs/files/:build/:file",
      handler: (request) => {
        const { build, file: name = "" } = request.params;
        const file = documentation.files.get(name);
        if (!file) throw notFound(`file "${name}" of the documentation`);
        const cacheControl = build === documentation.build ? immutable : revalidate;
        return pageReply(request, file, { cacheControl, contentSecurityPolicy });
      },
    },
  ];
}
