import { isStorable } from "../catalog/codes.js";
import { requireRead, requireRight } from "../catalog/rights.js";
import { type LayerNode, localName, type MapState, Right } from "../catalog/state.js";
import { badRequest, failed, notFound, required } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { isNaming, isSearchable } from "../search/entries.js";
import type { Hit } from "../search/found.js";
import { loadSettings, type SearchSetting, saveSettings } from "../search/settings.js";
import { answer, callerOf } from "./caller.js";
import { isObject, numberField, textField } from "./input.js";
import { integer, text } from "./parameters.js";
import { iconPath, projectPath, type View, viewOf } from "./present.js";
import type { Services } from "./services.js";

/** Search of a map, and its settings. */

const defaultLimit = 3;
const maxLimit = 1_000;
const maxSettings = 1_000;
/** The contract's default, whatever the map's main language is. */
const defaultLanguage = "ru";

async function find(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  const map = await services.catalog.map(project.code, request.params.map!);
  requireRead(map, caller);
  const phrase = text(request.query, "phrase");
  if (phrase === undefined) throw required(["phrase"]);
  const language = text(request.query, "lang") ?? text(request.query, "lng") ?? defaultLanguage;
  if (!isStorable(phrase) || !isStorable(language)) {
    throw badRequest("phrase and lang must not hold NUL or halves of surrogate pairs.");
  }
  const limit = Math.min(integer(request.query, "limit") ?? defaultLimit, maxLimit);
  const { signal } = request;
  const hits = await services.search.find(map, { phrase, language, limit, caller, signal });
  const view: View = { ...viewOf(request, map.project), language };
  return answer(
    caller,
    hits.map((hit) => item(map, hit, view)).map((one) => withAlias(one, services.config.idAlias)),
  );
}

/** An object item has the object's id under its other name too. */
const withAlias = (item: Record<string, unknown>, alias: string): Record<string, unknown> =>
  alias !== "" && item.type === "object" ? { ...item, [alias]: item.svc_id } : item;

/** The contract's layer item or object item. */
function item(map: MapState, hit: Hit, view: View): Record<string, unknown> {
  const { priority } = hit;
  if (hit.kind === "layer") {
    const { layer, name } = hit;
    return {
      id: layer.id,
      code: layer.code,
      name,
      priority,
      type: "layer",
      icon: iconPath(map, layer, view),
    };
  }
  const { layer, search: searched, name } = hit.entry;
  return {
    name: hit.name ?? "",
    svc_id: hit.id,
    priority,
    layer: layer.code,
    type: "object",
    name_column: name.code,
    search_column: searched.code,
    layer_name: localName(layer, view.language, map.project.languages[0]) || layer.code,
    layer_icon: iconPath(map, layer, view),
    value: hit.value ?? "",
  };
}

/** The map that an administrator of it asks about. */
async function administered(request: Request, services: Services) {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  const map = await services.catalog.map(project.code, request.params.map!);
  requireRight(map, caller, Right.administer);
  return { caller, map };
}

async function settings(request: Request, services: Services): Promise<Reply> {
  const { caller, map } = await administered(request, services);
  return answer(caller, settingItems(map, await loadSettings(services.db, map.id)));
}

async function saveAll(request: Request, services: Services): Promise<Reply> {
  const { caller, map } = await administered(request, services);
  const given = await request.body.json();
  if (!Array.isArray(given)) throw badRequest("The body must be an array of search settings.");
  if (given.length > maxSettings) {
    throw failed("invalid_value", `A map has at most ${maxSettings} search settings.`);
  }
  const wanted = given.map((element) => readSetting(map, element));
  await saveSettings(services.db, map.id, wanted);
  services.search.reconsider();
  return answer(caller, settingItems(map, wanted));
}

/** As the request gives them, in the order of the search. */
function settingItems(map: MapState, list: readonly SearchSetting[]): Record<string, unknown>[] {
  return list.flatMap(({ layerId, searchColumnId, nameColumnId, priority }) => {
    const layer = map.nodes.get(layerId) as LayerNode | undefined;
    const search = layer?.columns.find((column) => column.id === searchColumnId);
    const name = layer?.columns.find((column) => column.id === nameColumnId);
    if (!layer || !search || !name) return [];
    return [
      {
        layer: layer.code,
        search_column: search.code,
        name_column: name.code,
        ...(priority === null ? {} : { priority }),
      },
    ];
  });
}

/** @throws Failure bad_request, required_parameters, not_found for a layer, unknown_column */
function readSetting(map: MapState, element: unknown): SearchSetting {
  if (!isObject(element)) throw badRequest("Each search setting must be an object.");
  const code = textField(element, "layer");
  const searched = textField(element, "search_column");
  const missing = [...(code ? [] : ["layer"]), ...(searched ? [] : ["search_column"])];
  if (!code || !searched) throw required(missing);
  const layer = map.layers.get(code);
  if (!layer) throw notFound(`layer "${code}"`);
  return {
    layerId: layer.id,
    searchColumnId: columnId(layer, searched, isSearchable),
    nameColumnId: columnId(layer, textField(element, "name_column") ?? searched, isNaming),
    priority: numberField(element, "priority") ?? null,
  };
}

function columnId(
  layer: LayerNode,
  code: string,
  suits: (column: LayerNode["columns"][number]) => boolean,
): number {
  const column = layer.columns.find((candidate) => candidate.code === code);
  if (column && suits(column)) return column.id;
  const columns = Object.fromEntries([
    [
      code,
      column ? "A column of this type cannot be searched or name objects." : "The layer has no such column.",
    ],
  ]);
  throw failed("unknown_column", `The layer "${layer.code}" has no column "${code}" to search by.`, {
    columns,
  });
}

export const searchRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: `${projectPath}/:map/search/`, handler: find },
  { methods: ["GET"], path: `${projectPath}/:map/search/settings/`, handler: settings },
  { methods: ["PUT"], path: `${projectPath}/:map/search/settings/`, handler: saveAll },
];
