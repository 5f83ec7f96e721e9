import { mayRead, requireProjectRight, rightsOn } from "../../access/rights.js";
import { type Caller, localName, type MapState, type ProjectState, Right } from "../../catalog/state.js";
import { unauthenticated } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { projectContext } from "../request/context.js";
import { answers, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";

/** Lists of the published maps of a project: those that the user may read, and all for administrators. */

/** Published maps that the signed-in user may read. */
async function available(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await projectContext(request, services);
  if (caller.accountId === null) throw unauthenticated();
  const maps = (await publishedMaps(services, project)).filter((map) => mayRead(map, caller));
  return answer(
    caller,
    maps.map(({ id, code }) => ({ id, code })),
  );
}

async function publicList(request: Request, services: Services): Promise<Reply> {
  const { project, caller, view } = await projectContext(request, services);
  requireProjectRight(project, caller, Right.administer);
  const maps = await publishedMaps(services, project);
  return answer(
    caller,
    maps.map((map) => publicItem(map, view.language, caller)),
  );
}

/** Sorted as in the project. */
async function publishedMaps(services: Services, project: ProjectState): Promise<MapState[]> {
  const rows = await services.db.query<{ code: string }>(
    "select code from map where project_id = $1 and has_publication order by sort, id",
    [project.id],
  );
  const maps = await Promise.all(
    rows.map((row) => services.catalog.map(project.code, row.code).catch(ignoreDeleted)),
  );
  return maps.filter((map) => map?.hasPublication) as MapState[];
}

/** Omits maps that were deleted after the list was read. */
function ignoreDeleted(error: unknown): undefined {
  if ((error as { kind?: unknown }).kind === "not_found") return undefined;
  throw error;
}

/** An item of the list for administrators. */
function publicItem(map: MapState, language: string, caller: Caller): Answered<"PublicMap"> {
  const { languages } = map.project;
  return {
    id: map.id,
    type: "map",
    parent: map.project.id,
    code: map.code,
    parent_map: map.code,
    sort: map.sort,
    show_pub: true,
    css_style: map.cssStyle,
    localized_name: map.localized,
    name: localName(map, language, languages[0]),
    names: languages.map((code) => ({ [code]: localName(map, code, languages[0]) })),
    access: rightsOn(map, caller),
    json: map.json,
    comment: map.comment,
    listDepended: [],
    table_id: 0,
    style_mode: 2,
    render_settings: {},
    publish: map.hasPublication,
    group_layers: map.groupLayers,
    has_publication: map.hasPublication,
    locales: languages.map((code, i) => ({
      id: i + 1,
      code,
      name: languageName(code),
      sort: i + 1,
      container: map.id,
    })),
  };
}

/** The name of a language in that language: `ru` → русский; the code if `Intl` does not know it. */
function languageName(code: string): string {
  try {
    return new Intl.DisplayNames([code], { type: "language", fallback: "code" }).of(code) ?? code;
  } catch {
    return code;
  }
}

export const mapListOperations: readonly Operation[] = [
  operation({
    id: "listAvailableMaps",
    tag: "Maps",
    summary: "List the published maps that the user may read",
    access: "token",
    methods: ["GET"],
    path: `${projectPath}/maps/available/`,
    answer: answers("The maps, sorted as in the project.", { type: "array", items: ref("AvailableMap") }),
    handle: available,
  }),
  operation({
    id: "listPublicMaps",
    tag: "Maps",
    summary: "List all published maps with their settings",
    details: "For administrators.",
    access: "token",
    methods: ["GET"],
    path: `${projectPath}/maps/public/`,
    answer: answers("The maps, sorted as in the project.", { type: "array", items: ref("PublicMap") }),
    handle: publicList,
  }),
];
