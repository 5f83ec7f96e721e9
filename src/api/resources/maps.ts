import { z } from "zod";
import { requireProjectRight, requireRead } from "../../access/rights.js";
import { createMap } from "../../catalog/maps.js";
import { mapBases, Right } from "../../catalog/state.js";
import type { Reply, Request } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { checkStyle } from "../request/check-style.js";
import { mapContext, projectContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath, projectPath } from "../request/paths.js";
import { type BodyDefinition, jsonObject } from "../request/schema/bodies.js";
import { bit, bounds, code, flag, invalid, style, text } from "../request/schema/fields.js";
import { nameFields, nameOf } from "../request/schema/names.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { mapObject, mapResource } from "./present.js";

/** Maps: create and get. `map-edits.ts` changes them. */

export const groupLayers = bit(
  "1 = the published tree has the map as one layer; 0 = its layers and folders; default: 0.",
);

export const hasPublication = flag("Whether everybody may see the map; default: yes for a new one.");

export const startView = bounds(
  "What of the map its viewer shows at first, when the address names no place; null = all of its data.",
);

export const baseMap = ruled(z.enum(mapBases, `must be null or one of ${mapBases.join(", ")}`).nullable(), {
  refuse: invalid,
  blanks: [],
}).describe("What is drawn below the map; null = the base map of its project.");

/** It stands in the list of maps, which is read with every map that is opened. */
const longestComment = 2_000;

export const comment = text(
  "Plain text about the map, which the viewer, TileJSON and exported tiles show; default: none.",
  longestComment,
);

export const mapFields = {
  code: code("Code of the map, unique in the project."),
  ...nameFields,
  css_style: style("CartoCSS of the map, applied before the styles of its layers; default: none.").default(
    "",
  ),
  group_layers: groupLayers.default(0),
  has_publication: hasPublication.default(true),
  start_view: startView.default(null),
  base_map: baseMap.default(null),
  comment: comment.default(""),
};

interface NewMap extends Values<typeof mapFields> {
  /** In older versions; default: as `has_publication` says. */
  readonly publish?: boolean | undefined;
}

async function create(
  request: Request,
  services: Services,
  { body }: Input<unknown, NewMap>,
): Promise<Reply> {
  const { project, caller, view } = await projectContext(request, services);
  requireProjectRight(project, caller, Right.editStructure);
  const {
    code,
    css_style: cssStyle,
    group_layers,
    has_publication: isPublic,
    start_view,
    base_map,
    comment: about,
    publish = isPublic,
    ...naming
  } = await body();
  const name = nameOf(naming, { language: view.language, main: project.languages[0] });
  const notices = cssStyle === "" ? [] : await checkStyle(services, project, { mapStyle: cssStyle });
  await createMap(services.db, project.id, {
    code,
    cssStyle,
    groupLayers: group_layers,
    startView: start_view,
    base: base_map,
    comment: about,
    ownerId: caller.accountId,
    published: publish,
    ...(name ? { name } : {}),
  });
  await services.changes.propagate();
  const created = mapObject(await services.catalog.map(project.code, code), view);
  return answer(caller, { ...created, ...(notices.length > 0 && { notices }) });
}

async function get(request: Request, services: Services): Promise<Reply> {
  const { map, caller, view } = await mapContext(request, services);
  requireRead(map, caller);
  return answer(caller, mapObject(map, view));
}

/** The operation that creates a map, with a body that has at least `mapFields`. */
export const creation = (body: BodyDefinition<NewMap>): Operation =>
  operation({
    id: "createMap",
    tag: "Maps",
    summary: "Create a map",
    details:
      "The map is published immediately, unless `has_publication` is 0. Codes that are names of operations are reserved (invalid_code).",
    access: "token",
    methods: ["POST"],
    path: `${projectPath}/`,
    writes: true,
    shows: mapResource,
    changes: { unconditionally: "It makes a map." },
    body,
    answer: answers("The new map.", ref("Map")),
    refuses: ["required_parameters", "invalid_value", "invalid_code", "code_exists", "invalid_style"],
    handle: create,
  });

export const mapOperations: readonly Operation[] = [
  creation(jsonObject(mapFields, sizes.styled)),
  operation({
    id: "getMap",
    tag: "Maps",
    summary: "Get a map",
    methods: ["GET"],
    path: `${mapPath}/`,
    isKeptByCdn: true,
    shows: mapResource,
    answer: answers("The map.", ref("Map")),
    handle: get,
  }),
];
