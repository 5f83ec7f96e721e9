import { rightsOn } from "../../access/rights.js";
import { hasObjects, isDerived, type LayerNode, type MapState, Right } from "../../catalog/state.js";
import { notFound } from "../../errors.js";
import { type HistoryEntry, historyBytes, listHistory } from "../../features/history.js";
import { undo } from "../../features/undo.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { editableContext, type MapContext, mapContext, requireSignedIn } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath, mapPath } from "../request/paths.js";
import { form } from "../request/schema/bodies.js";
import { flag, integer, objectId } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";

/** Changes of objects: who, when and what, for those who may edit them; and their undoing. */

const listParameters = {
  limit: integer("Most entries; default: 100.", { least: 1, most: 1000 }).optional(),
  before: integer("Only entries with lower ids: those after the last one of the answer before.").optional(),
  values: flag(
    "Whether `before` and `after` are wanted, with the values that differ. A page may then have fewer entries than `limit`.",
  ),
};
type List = Input<typeof listParameters, unknown>;

const element = ({ layerId, at, ...entry }: HistoryEntry, map: MapState): Answered<"HistoryEntry"> => ({
  id: entry.id,
  group: entry.group,
  layer: map.nodes.get(layerId)!.code,
  object: entry.object,
  kind: entry.kind,
  count: entry.count,
  at: at.toISOString(),
  by: entry.login,
  before: entry.before,
  after: entry.after,
});

async function answerHistory(
  services: Services,
  { map, caller }: MapContext,
  layers: readonly LayerNode[],
  { query, object }: { readonly query: Values<typeof listParameters>; readonly object?: number },
): Promise<Reply> {
  const { limit = 100, before, values } = query;
  const entries = await listHistory(services.db, layers, { object, before, limit, values });
  if (object !== undefined && before === undefined && entries.length === 0)
    throw notFound(`change of object ${object} that is kept`);
  const bytes = object === undefined && before === undefined ? await historyBytes(services.db, layers) : null;
  const history: Answered<"History"> = { bytes, entries: entries.map((entry) => element(entry, map)) };
  return answer(caller, history);
}

async function ofMap(request: Request, services: Services, { query }: List): Promise<Reply> {
  const context = await mapContext(request, services);
  requireSignedIn(context);
  const { map, caller } = context;
  const layers = [...map.layers.values()].filter(
    (layer) =>
      hasObjects(layer) && !isDerived(layer) && (rightsOn(map, caller, layer) & Right.editObjects) !== 0,
  );
  return answerHistory(services, context, layers, { query: query() });
}

async function ofLayer(request: Request, services: Services, { query }: List): Promise<Reply> {
  const context = await editableContext(request, services);
  return answerHistory(services, context, [context.layer], { query: query() });
}

async function ofObject(request: Request, services: Services, { query }: List): Promise<Reply> {
  const context = await editableContext(request, services);
  const object = objectId(request.params.object);
  return answerHistory(services, context, [context.layer], { query: query(), object });
}

const undoBody = {
  group: flag("Whether all that was done together with it, in one request, is undone."),
};

async function undoEntry(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof undoBody>>,
): Promise<Reply> {
  const { layer, caller } = await editableContext(request, services);
  const { group } = await body();
  const { entry = "" } = request.params;
  if (!/^\d{1,15}$/.test(entry)) throw notFound(`entry ${entry} in the history of this layer`);
  const { objects, receipt } = await undo(services.db, layer, {
    entry: Number(entry),
    group,
  });
  await services.changes.propagate(receipt);
  const done: Answered<"Undone"> = { objects };
  return answer(caller, done);
}

const history = answers("The changes, newest first.", ref("History"));

export const historyOperations: readonly Operation[] = [
  operation({
    id: "listMapHistory",
    tag: "Objects",
    summary: "List changes of a map's objects",
    details: "Of the layers whose objects the caller may edit.",
    access: "token",
    methods: ["GET"],
    path: `${mapPath}/history/`,
    query: listParameters,
    answer: history,
    handle: ofMap,
  }),
  operation({
    id: "listLayerHistory",
    tag: "Objects",
    summary: "List changes of a layer's objects",
    details: "For those who may edit them. Changes are kept for `history.days`.",
    access: "token",
    methods: ["GET"],
    path: `${layerPath}/history/`,
    query: listParameters,
    answer: history,
    handle: ofLayer,
  }),
  operation({
    id: "listObjectHistory",
    tag: "Objects",
    summary: "List changes of an object",
    details: "Also of one that is deleted.",
    access: "token",
    methods: ["GET"],
    path: `${layerPath}/objects/:object/history/`,
    query: listParameters,
    answer: history,
    handle: ofObject,
  }),
  operation({
    id: "undoChange",
    tag: "Objects",
    summary: "Undo a change of objects",
    details:
      "A deleted object comes back with its id, a created one is deleted, and a changed one gets the values back that the change " +
      "replaced; others keep theirs. The response is 409 if these values were changed since. It is a change itself, which can be " +
      "undone. Imports that replace all objects cannot.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/history/:entry/undo/`,
    writes: true,
    changes: { unconditionally: "It is refused where others have changed the same since." },
    long: true,
    body: form(undoBody, sizes.small),
    answer: answers("How many objects were set back.", ref("Undone")),
    refuses: [404, 409, "invalid_value"],
    handle: undoEntry,
  }),
];
