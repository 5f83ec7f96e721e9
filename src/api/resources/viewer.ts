import { notFound } from "../../errors.js";
import type { Reply, Request, Route } from "../../http/types.js";
import type { ViewerFiles } from "../../viewer/files.js";
import { findMaps, shownProject } from "../../viewer/maps.js";
import type { PageFile } from "../../viewer/page-files.js";
import { asUsed, callerOfToken, headToken } from "../request/caller.js";
import { projectOrNone } from "../request/context.js";
import { text } from "../request/schema/parameters.js";
import { reader } from "../request/schema/read.js";
import type { Services } from "../services.js";
import { immutable, ownContent, pageReply, revalidate } from "./pages.js";

/** The map viewer at `/`, the console at `/console/`, their files, and their list of maps. */

const filePolicy = ownContent();

const fileReply = (request: Request, file: PageFile, cacheControl: string): Reply =>
  pageReply(request, file, { cacheControl, contentSecurityPolicy: filePolicy });

const listParameters = {
  lng: text("Language of names.").default("en"),
  project: text("Code of the project.").optional(),
};
const readList = reader(listParameters);

/**
 * The maps of a project that the caller may read. Without `project` those of the first one that has public maps, which the page
 * at `/` shows: of other projects nobody is told.
 */
async function listMaps(request: Request, services: Services): Promise<Reply> {
  const { lng: language, project: only } = readList(request.query);
  const token = headToken(request);
  // Projects without public maps are only shown to their users: to others they are like those that do not exist.
  if (only === undefined || token === undefined) {
    const { body, etag } = await services.publicMaps.list(language, only);
    const type = "application/json; charset=utf-8";
    return { kind: "bytes", body, headers: { "content-type": type, "cache-control": "no-cache", etag } };
  }
  const project = await projectOrNone(services, only);
  const caller = await callerOfToken(token, asUsed(request, services), project);
  const found = await findMaps(services.db, { project: project!, caller });
  const headers = { "cache-control": "private, no-store" };
  return { kind: "json", value: found.map((one) => shownProject(one, language)), headers };
}

/** Routes of the viewer, for the files loaded by `loadViewerFiles()`. */
export function viewerRoutesOf(table: ViewerFiles): Route<Services>[] {
  const scripts = `'${table.scriptHash}'`;
  const contentSecurityPolicy = ownContent({ scripts });
  /** Any page may show it in a frame: it uses no session and has nothing to sign in with. */
  const embeddedPolicy = ownContent({ scripts, framedBy: "*" });
  /** Its addresses are those of the viewer, which is a folder above. No page of others may have somebody press what he does not see. */
  const consolePolicy = ownContent({ base: "'self'", framedBy: "'none'" });
  const moved = (location: string): Reply => ({
    kind: "bytes",
    status: 308,
    body: "",
    headers: { location },
  });
  /** A request with an older build id (a page opened before an update) gets the current file, not as immutable. */
  const built = (request: Request, name: string): Reply => {
    const file = table.files.get(name);
    if (!file) throw notFound(`file "${name}" of the viewer`);
    return fileReply(request, file, request.params.build === table.build ? immutable : revalidate);
  };
  return [
    {
      methods: ["GET"],
      path: "/",
      handler: (request) =>
        pageReply(request, table.index, { cacheControl: revalidate, contentSecurityPolicy }),
    },
    {
      methods: ["GET"],
      path: "/embed",
      handler: (request) =>
        request.path.endsWith("/")
          ? // Its files are named relative to the page.
            moved("../embed")
          : pageReply(request, table.index, {
              cacheControl: revalidate,
              contentSecurityPolicy: embeddedPolicy,
            }),
    },
    {
      methods: ["GET"],
      path: "/console/",
      handler: (request) =>
        request.path.endsWith("/")
          ? pageReply(request, table.console, {
              cacheControl: revalidate,
              contentSecurityPolicy: consolePolicy,
            })
          : moved("console/"),
    },
    {
      methods: ["GET"],
      path: "/console/:code/",
      handler: (request) =>
        moved(
          `${request.path.endsWith("/") ? "../" : "./"}#project=${encodeURIComponent(request.params.code ?? "")}`,
        ),
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
      handler: listMaps,
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
