import { z } from "zod";
import { hasSomewhere, requireRight, rightsOnProject } from "../../access/rights.js";
import { type LayerNode, type MapState, Right } from "../../catalog/state.js";
import {
  findStructureEntry,
  type ListedEntry,
  listStructureHistory,
  type StructureEntry,
  structureKinds,
} from "../../catalog/structure-history.js";
import { undoStructure } from "../../catalog/undo-structure.js";
import { badRequest, forbidden, notFound, unauthenticated } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer, answerText } from "../request/caller.js";
import { checkStyle } from "../request/check-style.js";
import { projectContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { flag, integer, text } from "../request/schema/parameters.js";
import { readBy, ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { checkStyles } from "./map-edits.js";
import { administered } from "./style-files.js";

/** Changes of maps, folders, layers and columns: who, when and what, for administrators; and their undoing, for who may change them. */

/** Else a bad request. */
const kindParameter = readBy(z.string(), (given) => {
  const kind = structureKinds.find((one) => one === given);
  if (kind) return kind;
  throw badRequest(`kind must be one of ${structureKinds.join(", ")}.`);
})
  .meta({ description: `Only of ${structureKinds.join(", ")}: one of them.`, examples: ["layer"] })
  .optional();

const listParameters = {
  limit: integer("Most entries; default: 100.", { least: 1, most: 1000 }).optional(),
  before: integer("Only entries with lower ids: those after the last one of the answer before.").optional(),
  values: flag("Whether `before` and `after` are wanted. A page may then have fewer entries than `limit`."),
  map: text("Only of the map of this code, as it is or was.", 64).optional(),
  layer: text("Only of layers and folders of this code, and of their columns.", 64).optional(),
  kind: kindParameter,
  by: text("Only by this login.", 200).optional(),
};

const elementOf = ({
  item,
  node,
  login,
  at,
  mapId: _map,
  nodeId: _node,
  before: _before,
  after: _after,
  ...entry
}: ListedEntry): Omit<Answered<"StructureEntry">, "before" | "after"> => ({
  ...entry,
  item,
  layer: node,
  at: at.toISOString(),
  by: login,
  members: [...entry.members],
});

/** What may be long stays the text that it is. */
const elementText = (entry: ListedEntry): string =>
  `${JSON.stringify(elementOf(entry)).slice(0, -1)},"before":${entry.before},"after":${entry.after}}`;

async function list(
  request: Request,
  services: Services,
  { query }: Input<typeof listParameters, unknown>,
): Promise<Reply> {
  const { project, caller } = await administered(request, services);
  const { limit = 100, ...asked } = query();
  const entries = await listStructureHistory(services.db, project.id, { limit, ...asked });
  return answerText(caller, `{"entries":[${entries.map(elementText).join()}]}`);
}

/** Members of a map or layer that not everybody sets who may change its structure. */
const administrators: ReadonlySet<string> = new Set(["constraints", "search"]);

/** The right that the change itself takes. @throws Failure unauthenticated, forbidden */
function requireSame(map: MapState, caller: Parameters<typeof requireRight>[1], entry: StructureEntry): void {
  const isOfMap = entry.kind === "map";
  const needs = entry.members.some((name) => (isOfMap ? name !== "publication" : administrators.has(name)))
    ? Right.administer
    : Right.editStructure;
  const isOfLayer = entry.kind === "layer" || entry.kind === "column";
  requireRight(map, caller, needs, isOfLayer ? { id: entry.nodeId! } : undefined);
}

/** Styles that are set back are checked as those that are set: pictures may have gone since. */
async function requireStyle(
  services: Services,
  map: MapState,
  { kind, nodeId, before }: StructureEntry,
): Promise<void> {
  const css = before.css_style;
  if (typeof css !== "string") return;
  if (kind === "map") {
    // Also one that is none: styles of layers may have come to use variables of the present one.
    await checkStyles(services, map, css);
    return;
  }
  if (css === "") return;
  const layer = map.nodes.get(nodeId!);
  if (layer === undefined) return;
  const texts = { mapStyle: map.cssStyle, layerStyle: css, layerCode: layer.code };
  await checkStyle(services, map.project, texts, layer as LayerNode);
}

async function undo(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await projectContext(request, services);
  if (caller.accountId === null) throw unauthenticated();
  // Before more than the catalogue is asked: of a request that is repeated nothing else is checked.
  if (!hasSomewhere(project, caller, Right.editStructure | Right.administer)) throw forbidden();
  const { entry: id = "" } = request.params;
  const entry = /^\d{1,15}$/.test(id)
    ? await findStructureEntry(services.db, project.id, Number(id))
    : undefined;
  const [now] = entry
    ? await services.db.query<{ code: string }>("select code from map where id = $1 and project_id = $2", [
        entry.mapId,
        project.id,
      ])
    : [];
  if (!entry || !now) {
    // Others are not told what there is.
    if ((rightsOnProject(project, caller) & Right.editStructure) === 0) throw forbidden();
    throw notFound(entry ? "map any more that this was in" : `entry ${id} in the history`);
  }
  const map = await services.catalog.map(project.code, now.code);
  requireSame(map, caller, entry);
  await requireStyle(services, map, entry);
  await undoStructure(services.db, entry, project.languages[0]);
  await services.changes.propagate();
  if (entry.members.includes("search")) services.search.reconsider();
  const done: Answered<"StructureUndone"> = { members: [...entry.members] };
  return answer(caller, done);
}

export const structureHistoryOperations: readonly Operation[] = [
  operation({
    id: "listProjectHistory",
    tag: "Maps",
    summary: "List changes of maps, folders, layers and columns",
    details:
      "Newest first, for administrators of the project: names, styles, visualizations, places in the tree, publication, search " +
      "settings, columns and constraints. They are kept for `history.days`. Changes of objects are in the histories of maps and layers.",
    access: "token",
    methods: ["GET"],
    path: `${projectPath}/history/`,
    query: listParameters,
    answer: answers("The changes, newest first.", ref("StructureHistory")),
    handle: list,
  }),
  operation({
    id: "undoStructureChange",
    tag: "Maps",
    summary: "Undo a change of a map, folder, layer or column",
    details:
      "The members that the change had set are set back, if they are still those: else the response is 409, and `data.now` has " +
      "what they are. It takes the rights of the change itself, is a change, and can be undone. What was created is deleted, and " +
      "what was deleted is restored from the bin, each by its own operation.",
    access: "token",
    methods: ["POST"],
    path: `${projectPath}/history/:entry/undo/`,
    writes: true,
    // The type of a column may be set back.
    long: true,
    changes: { unconditionally: "It is refused where others have changed the same since." },
    answer: answers("The members that were set back.", ref("StructureUndone")),
    refuses: [404, 409, "invalid_value", "invalid_code", "code_exists", "invalid_style"],
    handle: undo,
  }),
];
