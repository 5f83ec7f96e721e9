import { hasObjects, type LayerNode, type StoredSettings } from "../../catalog/state.js";
import { storeSettings } from "../../catalog/stored-settings.js";
import { badRequest, failed, required } from "../../errors.js";
import { commonValues } from "../../features/common-values.js";
import { labelZoomOf } from "../../features/label-zoom.js";
import { suitedTo } from "../../features/visual-answer.js";
import { leastTallied } from "../../features/visual-tally.js";
import type { Reply, Request } from "../../http/types.js";
import { columnOf } from "../../visual/columns.js";
import {
  commonWanted,
  labelWithoutZoom,
  readSettings,
  type SettingsKind,
  settingsJsonSchemas,
  wantsSuited,
  withCommon,
  withLabelZoom,
  withSuited,
  withValues,
} from "../../visual/settings.js";
import { answer } from "../request/caller.js";
import { type LayerContext, layerContext, toEditStructure } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { jsonValue } from "../request/schema/bodies.js";
import { anything, isObject, type JsonObject, own } from "../request/schema/fields.js";
import { flag } from "../request/schema/parameters.js";
import { type JsonSchema, objectSchema, ref } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { answerLayer } from "./layer-answer.js";
import { layerObject, layerResource } from "./present.js";

/** Visualization and vector settings of a layer. */

/** The layer of the path, for users who may change its settings. @throws Failure as `layerContext`; invalid_value */
async function settingsContext(request: Request, services: Services): Promise<LayerContext> {
  const context = await layerContext(request, services, toEditStructure);
  requireObjects(context.layer);
  return context;
}

/** @throws Failure invalid_value */
export function requireObjects(layer: LayerNode): void {
  if (!hasObjects(layer))
    throw failed("invalid_value", "Only layers of objects have such settings.", { type: layer.type });
}

/** The layer object after a change of its settings. */
async function changed(context: LayerContext, services: Services): Promise<Reply> {
  await services.changes.propagate();
  return answerLayer(services, context, context.layer.id);
}

/** Settings in a request. */
export interface GivenSettings {
  readonly kind: SettingsKind;
  /** Not yet validated. */
  readonly settings: unknown;
}

const saveParameters = {
  dry_run: flag("Whether to save nothing, and answer the layer as it would be, with its classes and counts."),
};

async function save(
  request: Request,
  services: Services,
  { query, body }: Input<typeof saveParameters, GivenSettings>,
): Promise<Reply> {
  const found = await settingsContext(request, services);
  const { dry_run: isTried } = query();
  const layer = { ...found.layer, isTried };
  const context = { ...found, layer };
  const given = await body();
  const settings = await settingsOf(request, services, context, given);
  if (!isTried) return stored(services, context, given.kind, settings);
  const tried = { ...layer, ...withSettings(given.kind, settings) };
  const { map, caller, view } = context;
  return answer(caller, layerObject(map, tried, view, { css: true, source: true }));
}

async function saveVector(
  request: Request,
  services: Services,
  { body }: Input<unknown, GivenSettings>,
): Promise<Reply> {
  const context = await settingsContext(request, services);
  const given = await body();
  return stored(services, context, given.kind, await settingsOf(request, services, context, given));
}

/** The settings of a request as they are stored. @throws Failure invalid_value, unknown_column */
function settingsOf(
  request: Request,
  services: Services,
  context: LayerContext,
  given: GivenSettings,
): Promise<StoredSettings> {
  const checked = readSettings(context.layer, given.kind, given.settings, services.plugins);
  return withCurrentValues(services, { ...context, request }, given, checked);
}

/** What of a layer is another with a visualization. */
export const withSettings = (kind: SettingsKind, settings: StoredSettings): Partial<LayerNode> => ({
  visualSettings: null,
  visualCustomSettings: null,
  styleMode: kind === "visualSettings" ? 3 : 4,
  [kind]: settings,
});

async function stored(
  services: Services,
  context: LayerContext,
  kind: SettingsKind,
  settings: StoredSettings,
): Promise<Reply> {
  const { map, layer } = context;
  await storeSettings(services.db, { mapId: map.id, layerId: layer.id }, kind, settings);
  return changed(context, services);
}

/**
 * Adds classes that the request leaves to the server, and the current values of a visualization, which are shown whenever
 * computing them takes too long.
 */
export async function withCurrentValues(
  services: Services,
  { map, layer, request }: LayerContext & { readonly request: Request },
  given: GivenSettings,
  checked: StoredSettings,
): Promise<StoredSettings> {
  if (given.kind !== "visualSettings") return checked;
  // Others write meanwhile: what reads all objects takes a place of those who read.
  const db = services.db.apart;
  const { signal } = request;
  const main = map.project.languages[0];
  const most = commonWanted(checked, given.settings);
  const column = columnOf(layer, checked.column);
  const languages = { own: main, main };
  let settings = checked;
  if (most > 0 && column)
    settings = withCommon(checked, await commonValues(db, layer, { column, languages, most }, signal));
  if (column && wantsSuited(checked, given.settings)) {
    const classes = checked.classesCount as number;
    const suited = await suitedTo(
      db,
      layer,
      { column, classes, languages, mostNatural: leastTallied },
      signal,
    );
    settings = withSuited(checked, given.settings, suited);
  }
  const label = labelWithoutZoom(layer, checked);
  if (label) {
    const fromZoom = await labelZoomOf(db, layer, { column: label, languages }, signal);
    settings = withLabelZoom(settings, fromZoom);
  }
  return withValues(
    settings,
    await services.visuals.current({ ...layer, visualSettings: settings }, map.project),
  );
}

const settingsField = (kind: SettingsKind, description: string) =>
  anything(description, settingsJsonSchemas[kind]).optional();

export const visualFields = {
  visualSettings: settingsField("visualSettings", "A visualization of a built-in type."),
  visualCustomSettings: settingsField(
    "visualCustomSettings",
    "A visualization by a plug-in; excludes visualSettings.",
  ),
};

/** A body with an object that has the settings as a field, or with the settings themselves. */
function settingsBody(
  wrapped: JsonSchema,
  kinds: readonly SettingsKind[],
  kindOf: (body: JsonObject) => GivenSettings,
) {
  const bare = kinds.map((kind) => settingsJsonSchemas[kind]);
  const read = (body: unknown) => {
    if (!isObject(body)) throw badRequest("The body must be a JSON object.");
    return kindOf(body);
  };
  return jsonValue<GivenSettings>({ anyOf: [wrapped, ...bare] }, read, sizes.settings);
}

/** Accepts exactly one kind of settings. @throws Failure required_parameters, invalid_value */
export function visualSettingsIn(body: JsonObject): GivenSettings {
  const simple = own(body, "visualSettings") ?? undefined;
  const custom = own(body, "visualCustomSettings") ?? undefined;
  if (simple !== undefined && custom !== undefined)
    throw failed("invalid_value", "A layer has visualSettings or visualCustomSettings, not both.");
  if (simple !== undefined) return { kind: "visualSettings", settings: simple };
  if (custom !== undefined) return { kind: "visualCustomSettings", settings: custom };
  // Built-in types are numbers, types of plug-ins are strings.
  const type = own(body, "type") ?? undefined;
  if (type === undefined) throw required(["visualSettings"]);
  return { kind: typeof type === "string" ? "visualCustomSettings" : "visualSettings", settings: body };
}

const visualBody = settingsBody(
  objectSchema(visualFields),
  ["visualSettings", "visualCustomSettings"],
  visualSettingsIn,
);

const vectorFields = {
  vectorSettings: settingsField("vectorSettings", "Settings for clients that render the layer as vectors."),
};
const vectorBody = settingsBody(objectSchema(vectorFields), ["vectorSettings"], (body) => {
  const settings = own(body, "vectorSettings") ?? body;
  const isAny = Object.keys(settings).some((name) =>
    Object.hasOwn(settingsJsonSchemas.vectorSettings.properties ?? {}, name),
  );
  if (settings === body && !isAny) throw required(["vectorSettings"]);
  return { kind: "vectorSettings", settings };
});

const remove = (kind: SettingsKind) => async (request: Request, services: Services) => {
  const context = await settingsContext(request, services);
  await storeSettings(services.db, { mapId: context.map.id, layerId: context.layer.id }, kind, null);
  return changed(context, services);
};

const layerAnswer = answers("The changed layer.", ref("Layer"));
const refuses = ["invalid_value", "unknown_column", "required_parameters"] as const;

export const visualizationOperations: readonly Operation[] = [
  operation({
    id: "saveVisualization",
    tag: "Layers",
    summary: "Set a layer's visualization",
    details:
      "`classesSettings` depend on the type: 1 colour gradient, 2 categories, 3 bubbles, 4 to 6 pie, bar and line " +
      "charts, 7 heat map, 8 clusters (an addition). Columns are given by id or code. Counts and class breaks are computed by the server. Without " +
      "`algorithm` it is the one that suits the values as they are then, and answers tell it; categories without `classes` " +
      "get one for each of the six commonest values. " +
      "Tiles draw the visualization in place of `css_style`; those of plug-ins that the installation does not have are drawn " +
      "by clients.",
    access: "token",
    methods: ["PUT"],
    path: `${layerPath}/visualization/`,
    writes: true,
    shows: layerResource,
    changes: layerResource,
    query: saveParameters,
    body: visualBody,
    answer: layerAnswer,
    refuses,
    handle: save,
  }),
  operation({
    id: "deleteVisualization",
    tag: "Layers",
    summary: "Delete a layer's visualization",
    access: "token",
    methods: ["DELETE"],
    path: `${layerPath}/visualization/`,
    writes: true,
    shows: layerResource,
    changes: layerResource,
    answer: layerAnswer,
    refuses: ["invalid_value"],
    handle: remove("visualSettings"),
  }),
  operation({
    id: "saveVectorSettings",
    tag: "Layers",
    summary: "Set a layer's vector settings",
    details: "For clients that render the layer as vectors: tiles leave it out.",
    access: "token",
    methods: ["PUT"],
    path: `${layerPath}/vector/`,
    writes: true,
    shows: layerResource,
    changes: layerResource,
    body: vectorBody,
    answer: layerAnswer,
    refuses,
    handle: saveVector,
  }),
  operation({
    id: "deleteVectorSettings",
    tag: "Layers",
    summary: "Delete a layer's vector settings",
    access: "token",
    methods: ["DELETE"],
    path: `${layerPath}/vector/`,
    writes: true,
    shows: layerResource,
    changes: layerResource,
    answer: layerAnswer,
    refuses: ["invalid_value"],
    handle: remove("vectorSettings"),
  }),
];
