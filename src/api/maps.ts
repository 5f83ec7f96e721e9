import { createMap } from "../catalog/maps.js";
import { mayRead, requireProjectRight, requireRead, rightsOn } from "../catalog/rights.js";
import { type Caller, localName, type MapState, type ProjectState, Right } from "../catalog/state.js";
import { required, unauthenticated } from "../errors.js";
import type { Handler, Reply, Request, Route } from "../http/types.js";
import { answer, callerOf } from "./caller.js";
import { bodyObject, cssField, type Fields, nameField, own, textField } from "./input.js";
import { mapObject, projectPath, viewOf } from "./present.js";
import type { Services } from "./services.js";

/** Maps: create, get, the list of available and the list of published ones. */

/**
 * Creation of a map.
 * @param isPublished whether a body asks for a map that the public may see
 */
export const creation =
  (isPublished: (fields: Fields) => boolean): Handler<Services> =>
  async (request, services) => {
    const project = await services.catalog.project(request.params.project!);
    const caller = await callerOf(request, services, project);
    requireProjectRight(project, caller, Right.editStructure);
    const fields = await bodyObject(request);
    if (own(fields, "code") === undefined) throw required(["code"]);
    const code = textField(fields, "code")!;
    const cssStyle = cssField(fields) ?? "";
    const view = viewOf(request, project);
    const name = nameField(fields, { language: view.language, main: project.languages[0] });
    if (cssStyle !== "") {
      await services.styles.compile({ mapStyle: cssStyle, deadlineMs: services.config.style.deadlineMs });
    }
    const id = await createMap(services.db, project.id, {
      code,
      cssStyle,
      ownerId: caller.accountId,
      published: isPublished(fields),
      ...(name ? { name } : {}),
    });
    await services.changes.settle({ maps: [id] });
    return answer(caller, mapObject(await services.catalog.map(project.code, code), view));
  };

async function get(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  const map = await services.catalog.map(project.code, request.params.map!);
  requireRead(map, caller);
  return answer(caller, mapObject(map, viewOf(request, map.project)));
}

/** Published maps that the signed-in user may read. */
async function available(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  if (caller.accountId === null) throw unauthenticated();
  const maps = (await publishedMaps(services, project)).filter((map) => mayRead(map, caller));
  return answer(
    caller,
    maps.map(({ id, code }) => ({ id, code })),
  );
}

async function publicList(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  requireProjectRight(project, caller, Right.administer);
  const { language } = viewOf(request, project);
  const maps = await publishedMaps(services, project);
  return answer(
    caller,
    maps.map((map) => publicItem(map, language, caller)),
  );
}

/** In the order of the project. */
async function publishedMaps(services: Services, project: ProjectState): Promise<MapState[]> {
  const rows = await services.db.query<{ code: string }>(
    "select code from map where project_id = $1 and has_publication order by sort, id",
    [project.id],
  );
  const maps = await Promise.all(rows.map((row) => services.catalog.map(project.code, row.code).catch(gone)));
  return maps.filter((map) => map?.hasPublication) as MapState[];
}

/** A map that was deleted after the list was read is not in the list. */
function gone(error: unknown): undefined {
  if ((error as { kind?: unknown }).kind === "not_found") return undefined;
  throw error;
}

/** The item of the administrator's list of published maps. */
function publicItem(map: MapState, language: string, caller: Caller): Record<string, unknown> {
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

/** The language's own name for itself: `ru` → русский; the code where it means nothing to `Intl`. */
function languageName(code: string): string {
  try {
    return new Intl.DisplayNames([code], { type: "language", fallback: "code" }).of(code) ?? code;
  } catch {
    return code;
  }
}

export const mapRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/`, handler: creation(() => true) },
  { methods: ["GET"], path: `${projectPath}/maps/available/`, handler: available },
  { methods: ["GET"], path: `${projectPath}/maps/public/`, handler: publicList },
  { methods: ["GET"], path: `${projectPath}/:map/`, handler: get },
];
