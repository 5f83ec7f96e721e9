import { mayRead } from "../catalog/rights.js";
import { type Caller, publicCaller } from "../catalog/state.js";
import { Failure, notFound } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import type { ViewerFiles } from "../viewer/files.js";
import { type ViewerProject, viewerMaps } from "../viewer/maps.js";
import type { PageFile } from "../viewer/page-files.js";
import { callerOf } from "./caller.js";
import { forever, ownContent, pageReply, revalidate } from "./pages.js";
import { orElse, readParameters, text } from "./schema/parameters.js";
import type { Services } from "./services.js";

/** The map page at `/`, its files, and the list of maps that it offers. */

const contentSecurityPolicy = ownContent();

const fileReply = (request: Request, file: PageFile, cacheControl: string): Reply =>
  pageReply(request, file, { cacheControl, contentSecurityPolicy });

const listParameters = {
  lng: orElse(text("Language of names."), "en"),
  project: text("Code of the one project to list."),
};

/** All projects with the maps that the public may see; with `project`, that one with all that the caller may see. */
async function listMaps(request: Request, services: Services): Promise<Reply> {
  const { lng: language, project: only } = readParameters(listParameters, request.query);
  if (only === undefined) {
    // Grants to the public can close a published map: rare, so maps are looked at only where there are some.
    const states = await services.catalog.projects();
    const restricted = new Set(
      states
        .filter(({ grants }) => grants.some(({ accountId }) => accountId === null))
        .map(({ code }) => code),
    );
    const listed = await viewerMaps(services.db, language);
    const value = await Promise.all(
      listed.map((project) =>
        restricted.has(project.code) ? withOpenMaps(project, publicCaller, services) : project,
      ),
    );
    return { kind: "json", value, headers: { "cache-control": "no-cache" } };
  }
  const project = await services.catalog.project(only);
  const caller = await callerOf(request, services, project);
  const listed = await viewerMaps(services.db, language, project.code);
  const value = await Promise.all(listed.map((found) => withOpenMaps(found, caller, services)));
  return { kind: "json", value, headers: { "cache-control": "private, no-store" } };
}

async function withOpenMaps(
  project: ViewerProject,
  caller: Caller,
  services: Services,
): Promise<ViewerProject> {
  const open = await Promise.all(
    project.maps.map(async ({ code }) => {
      const map = await services.catalog.map(project.code, code).catch((error: unknown) => {
        // Deleted since the list was read.
        if (error instanceof Failure && error.kind === "not_found") return undefined;
        throw error;
      });
      return map !== undefined && mayRead(map, caller);
    }),
  );
  return { ...project, maps: project.maps.filter((_, index) => open[index]) };
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
