import { z } from "zod";
import { requireRead, requireRight } from "../../access/rights.js";
import { isStorable } from "../../catalog/codes.js";
import { type LayerNode, localName, type MapState, Right } from "../../catalog/state.js";
import { excerpt, failed, notFound, Reasons } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import { isNaming, isSearchable, isWeighing } from "../../search/entries.js";
import type { Hit } from "../../search/found.js";
import { loadSettings, type SearchSetting, saveSettings } from "../../search/settings.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { type MapContext, mapContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath, type View } from "../request/paths.js";
import { type Resource, stateOf } from "../request/resource.js";
import { jsonArray } from "../request/schema/bodies.js";
import { number, text } from "../request/schema/fields.js";
import { integer } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { iconPath } from "./present.js";

/** Search of a map, and its settings. */

const defaultLimit = 3;
const maxLimit = 1_000;
const maxSettings = 1_000;
/** The contract's default, whatever the map's main language is. */
const defaultLanguage = "ru";

/** A string that PostgreSQL can compare. Else a bad request. */
const comparable = (description: string) =>
  z.string().refine(isStorable, "must not hold NUL or halves of surrogate pairs").describe(description);

const findParameters = {
  phrase: comparable("Search phrase; case and accents are ignored."),
  lang: comparable("Language of layer names; default: lng, else ru.").optional(),
  lng: comparable("Same as lang.").optional(),
  limit: integer("Maximum number of results; at most 1000 are returned.").default(defaultLimit),
};

async function find(
  request: Request,
  services: Services,
  { query }: Input<typeof findParameters, undefined>,
): Promise<Reply> {
  const { map, caller, view } = await mapContext(request, services);
  requireRead(map, caller);
  const { phrase, lang, lng, limit } = query();
  const language = lang ?? lng ?? defaultLanguage;
  const { signal } = request;
  const { hits, isCut } = await services.search.find(map, {
    phrase,
    language,
    limit: Math.min(limit, maxLimit),
    caller,
    client: networkOf(request.remoteAddress),
    signal,
  });
  const searchView = { ...view, language };
  const found = answer(
    caller,
    hits.map((hit) => withAlias(item(map, hit, searchView), services.config.idAlias)),
  );
  return isCut ? { ...found, headers: { ...found.headers, "X-Search-Incomplete": "1" } } : found;
}

/** Adds the object id under its configured alias. */
const withAlias = (item: Answered<"LayerItem"> | Answered<"ObjectItem">, alias: string) =>
  alias !== "" && item.type === "object" ? { ...item, [alias]: item.svc_id } : item;

/** The `LayerItem` or `ObjectItem` response object. */
function item(map: MapState, hit: Hit, view: View): Answered<"LayerItem"> | Answered<"ObjectItem"> {
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
    ...(hit.detail === null ? {} : { detail: hit.detail }),
  };
}

/** The map context, for administrators of the map. */
async function administratorContext(request: Request, services: Services): Promise<MapContext> {
  const context = await mapContext(request, services);
  requireRight(context.map, context.caller, Right.administer);
  return context;
}

async function settings(request: Request, services: Services): Promise<Reply> {
  const { caller, map } = await administratorContext(request, services);
  return answer(caller, settingItems(map, await loadSettings(services.db, map.id)));
}

const searchSettingsResource: Resource = {
  name: "search settings",
  lockedBy: "map",
  // No part of the catalogue: the answer itself is what they are.
  shown: (_, { value }) => stateOf(value),
  states: async ({ map }, tx) => (map ? [stateOf(settingItems(map, await loadSettings(tx, map.id)))] : []),
};

const settingFields = {
  layer: text("Code of the layer."),
  search_column: text("Code of the column to search."),
  name_column: text(
    "Code of the column with the name of the objects; default: the searched column.",
  ).optional(),
  priority: number("Priority in the search order.").optional(),
  weight_column: text(
    "Code of a number column, such as the population: of objects that match as well as others, those with the greatest numbers " +
      "come first.",
  ).optional(),
  detail_column: text(
    "Code of a column, such as the country: its value is told with what is found, so that objects of one name can be told apart.",
  ).optional(),
};
type Setting = Values<typeof settingFields>;

async function saveAll(
  request: Request,
  services: Services,
  { body }: Input<unknown, Setting[]>,
): Promise<Reply> {
  const { caller, map } = await administratorContext(request, services);
  const settings = (await body()).map((setting) => toStored(map, setting));
  await saveSettings(services.db, map.id, settings);
  services.search.reconsider();
  return answer(caller, settingItems(map, settings));
}

/** `SearchSetting` response objects, in search order. */
function settingItems(map: MapState, list: readonly SearchSetting[]): Answered<"SearchSetting">[] {
  return list.flatMap(({ layerId, priority, ...ids }) => {
    const layer = map.nodes.get(layerId) as LayerNode | undefined;
    const column = (id: number | null | undefined) => layer?.columns.find((one) => one.id === id);
    const [search, name] = [column(ids.searchColumnId), column(ids.nameColumnId)];
    const [weight, detail] = [column(ids.weightColumnId), column(ids.detailColumnId)];
    if (!layer || !search || !name) return [];
    return [
      {
        layer: layer.code,
        search_column: search.code,
        name_column: name.code,
        ...(priority === null ? {} : { priority }),
        ...(weight ? { weight_column: weight.code } : {}),
        ...(detail ? { detail_column: detail.code } : {}),
      },
    ];
  });
}

/** @throws Failure not_found for a layer, unknown_column */
function toStored(map: MapState, setting: Setting): SearchSetting {
  const layer = map.layers.get(setting.layer);
  if (!layer) throw notFound(`layer "${excerpt(setting.layer)}"`);
  return {
    layerId: layer.id,
    searchColumnId: columnId(layer, setting.search_column, isSearchable),
    nameColumnId: columnId(layer, setting.name_column ?? setting.search_column, isNaming),
    priority: setting.priority ?? null,
    weightColumnId:
      setting.weight_column === undefined ? null : columnId(layer, setting.weight_column, isWeighing),
    detailColumnId:
      setting.detail_column === undefined ? null : columnId(layer, setting.detail_column, isNaming),
  };
}

function columnId(
  layer: LayerNode,
  code: string,
  suits: (column: LayerNode["columns"][number]) => boolean,
): number {
  const column = layer.columns.find((candidate) => candidate.code === code);
  if (column && suits(column)) return column.id;
  const reason = column
    ? "A column of this type cannot be searched, name objects, weigh them or tell them apart."
    : "The layer has no such column.";
  throw failed(
    "unknown_column",
    `The layer "${layer.code}" has no column "${excerpt(code)}" to search by.`,
    Reasons.of(code, reason).data,
  );
}

const settingsAnswer = answers("The settings, in search order.", {
  type: "array",
  items: ref("SearchSetting"),
});

const results = answers("The results.", {
  type: "array",
  items: { anyOf: [ref("LayerItem"), ref("ObjectItem")] },
});

export const searchOperations: readonly Operation[] = [
  operation({
    id: "search",
    tag: "Search",
    summary: "Search layers and objects",
    details:
      "Sorted by priority (30 = whole phrase, also as one of several that a text parts by semicolons, 20 = all words, also with those in the detail, 10 = some words, or a small typing error), then layers " +
      "before objects, then whole words before parts of words, then by the column of the weight.",
    methods: ["GET"],
    path: `${mapPath}/search/`,
    query: findParameters,
    answer: {
      ...results,
      headers: {
        ...results.headers,
        "X-Search-Incomplete":
          "1 when there was no time to look at all values, as before a large column has its indexes: there may be more.",
      },
    },
    handle: find,
  }),
  operation({
    id: "getSearchSettings",
    tag: "Search",
    summary: "Get the search settings of a map",
    details:
      "Without settings, all text columns of the published layers are searched, in tree order, and columns of an address tell objects apart.",
    access: "token",
    methods: ["GET"],
    path: `${mapPath}/search/settings/`,
    shows: searchSettingsResource,
    answer: settingsAnswer,
    handle: settings,
  }),
  operation({
    id: "saveSearchSettings",
    tag: "Search",
    summary: "Replace the search settings of a map",
    access: "token",
    methods: ["PUT"],
    path: `${mapPath}/search/settings/`,
    writes: true,
    shows: searchSettingsResource,
    changes: searchSettingsResource,
    body: jsonArray(settingFields, {
      item: "search setting",
      items: "search settings",
      most: maxSettings,
      limits: sizes.list,
    }),
    answer: settingsAnswer,
    refuses: ["invalid_value", "unknown_column"],
    handle: saveAll,
  }),
];
