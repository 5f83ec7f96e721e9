import { createHash } from "node:crypto";
import { mayRead, requireRead, rightsOn } from "../../access/rights.js";
import { fullTree, layersInFolder, type Published, publicationTree } from "../../catalog/publication.js";
import { isLayer, type LayerNode, type MapState, type TreeNode } from "../../catalog/state.js";
import { type ContractBox, unionBoxes } from "../../geo/envelope.js";
import { withHeaders } from "../../http/headers.js";
import type { Reply, Request } from "../../http/types.js";
import { onceForEach } from "../../once.js";
import type { Pause } from "../../queues/slices.js";
import { mapStateOf } from "../../tiles/map-events.js";
import { questionOf } from "../../visual/kinds.js";
import { callerHeaders } from "../request/caller.js";
import { type MapContext, mapContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { knownView, mapPath, type View } from "../request/paths.js";
import { answerKept } from "../request/public-answers.js";
import { type Resource, stateDigits, stateOf } from "../request/resource.js";
import { choice, flag, srid } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { inAllLanguages, type LayerExtras, layerObject, mapElement } from "./present.js";
import { visualValues } from "./visual-values.js";

/** The layer tree of a map: all layers and folders, or the published ones. */

export interface TreeOptions {
  /** The full tree instead of the publication tree. */
  readonly full?: boolean;
  /** Whether a map with `group_layers` is one element. */
  readonly grouped?: boolean;
  readonly css?: boolean;
  /** EPSG code of the bounding boxes; undefined = without boxes. */
  readonly boxSrid?: 4326 | 3857 | undefined;
  readonly access?: boolean;
}

/** The elements that the caller may read, in depth-first order, each folder before its content. */
export async function treeElements(
  services: Services,
  context: MapContext,
  options: TreeOptions = {},
): Promise<Record<string, unknown>[]> {
  return Array.from(await treeOf(services, context, options, pauseOf(services, context)));
}

const pauseOf = ({ slices }: Services, { map }: MapContext): Pause => slices.begin(`p${map.project.id}`);

/** The same as a JSON text. Others have their turn while it is made. */
async function treeText(services: Services, context: MapContext, options: TreeOptions = {}): Promise<string> {
  const pause = pauseOf(services, context);
  const texts: string[] = [];
  for (const element of await treeOf(services, context, options, pause)) {
    texts.push(JSON.stringify(element));
    await pause();
  }
  return `[${texts.join()}]`;
}

/** The same as an answer. */
export const treeAnswer = async (
  services: Services,
  context: MapContext,
  options?: TreeOptions,
): Promise<Reply> => ({
  kind: "json_text",
  text: await treeText(services, context, options),
  headers: callerHeaders(context.caller),
});

/** The elements, each made when it is taken. */
async function treeOf(
  services: Services,
  { map, caller, view }: MapContext,
  options: TreeOptions,
  pause: Pause,
): Promise<Iterable<Record<string, unknown>>> {
  const readable = (layer: LayerNode) => mayRead(map, caller, layer);
  const published = options.full ? null : map.publication;
  const shown = published ? publicationTree(map, published, readable) : fullTree(map, readable);
  const isOne = options.grouped === true && map.groupLayers === 1;
  const boxes =
    options.boxSrid &&
    (await boxesOf(shown, {
      services,
      pause,
      boxSrid: options.boxSrid,
      held: (folder) => layersInFolder(map, folder.id).filter(readable),
    }));
  if (isOne && !options.full)
    return shown.length === 0
      ? []
      : [
          mapElement(map, view, {
            css: options.css ?? false,
            bbox: boxes && unionBoxes(boxes),
            access: options.access ? rightsOn(map, caller) : undefined,
          }),
        ];
  const values = await visualValues(
    services,
    map,
    shown.map(({ node }) => node),
  );
  return (function* () {
    for (const [at, one] of shown.entries())
      yield elementOf(map, one, view, {
        values: values.get(one.node.id),
        css: options.css ?? false,
        bbox: boxes?.[at],
        access: options.access ? rightsOn(map, caller, one.node) : undefined,
      });
  })();
}

const elementOf = (map: MapState, { node, element }: Published, view: View, extras: LayerExtras) => ({
  ...layerObject(map, node, view, extras),
  ...(element && {
    id: element.id,
    parent_id: element.parentId,
    sort: element.sort,
    selected: element.selected,
    ...(element.icon ? { icon: element.icon } : {}),
  }),
});

/** The ways to show the tree: of what is shown, the states differ. */
const ways = ["publish", "full"].flatMap((type) => [false, true].map((css) => ({ type, css })));

/** States of the trees of maps, by what is shown. */
const treeStates = new WeakMap<MapState, Map<string, Promise<string>>>();

/** The state of the whole tree, however much of it the caller may read. */
function treeState(map: MapState, { type, css }: (typeof ways)[number], pause: Pause): Promise<string> {
  const known = treeStates.get(map) ?? new Map<string, Promise<string>>();
  treeStates.set(map, known);
  const key = `${type} ${css}`;
  const state = known.get(key) ?? digestOfTree(map, { full: type === "full", css }, pause);
  known.set(key, state);
  return state;
}

async function digestOfTree(
  map: MapState,
  { full, css }: { readonly full: boolean; readonly css: boolean },
  pause: Pause,
): Promise<string> {
  const published = full ? null : map.publication;
  const hash = createHash("sha256");
  const shown = published ? publicationTree(map, published, () => true) : fullTree(map, () => true);
  if (map.groupLayers === 1 && !full)
    hash.update(stateOf(inAllLanguages(map, (view) => mapElement(map, view, { css }))));
  for (const one of shown) {
    hash.update(stateOf(inAllLanguages(map, (view) => elementOf(map, one, view, { css }))));
    await pause();
  }
  return hash.digest("hex").slice(0, stateDigits);
}

/** Publishing is meant for the tree that somebody saw, in whichever way. */
export const treeResource: Resource = {
  name: "layer tree",
  lockedBy: "map",
  shown: ({ map }, { query, pause }) => {
    const [type, css] = [query.get("type") === "full" ? "full" : "publish", query.get("returnCss") === "1"];
    return map && treeState(map, { type, css }, pause);
  },
  states: async ({ map }) =>
    map ? Promise.all(ways.map((way) => treeState(map, way, () => Promise.resolve()))) : [],
};

/** Whether nothing in the map's tree depends on objects. */
const isOfCatalogue = onceForEach((map: MapState) => {
  for (const layer of map.layers.values()) if (questionOf(layer)) return false;
  return true;
});

interface BoxSource {
  readonly services: Services;
  readonly pause: Pause;
  readonly boxSrid: 4326 | 3857;
  /** Layers in a folder that the caller may read. */
  readonly held: (folder: TreeNode) => readonly LayerNode[];
}

/** The bounding box of each element; for a folder, the union of the boxes of its layers. */
async function boxesOf(shown: readonly Published[], source: BoxSource): Promise<(ContractBox | null)[]> {
  const { services, boxSrid, held, pause } = source;
  const parents = new Set(shown.map(({ node, element }) => (element ? element.parentId : node.parentId)));
  /** Layers whose boxes count for the element itself. A folder without shown children represents all layers in it. */
  const own = shown.map(({ node, element }) => {
    if (isLayer(node)) return [node];
    return parents.has(element ? element.id : node.id) ? [] : held(node);
  });
  const known = await services.boxes.of(services.db, own.flat(), boxSrid);
  const boxes: (ContractBox | null)[] = [];
  for (const layers of own) {
    boxes.push(unionBoxes(layers.map((layer) => known.get(layer.id) ?? null)));
    await pause();
  }
  // Children follow their folder, so iterating backwards completes the boxes of children first.
  const below = new Map<number, ContractBox | null>();
  for (let at = shown.length - 1; at >= 0; at--) {
    const { node, element } = shown[at]!;
    const id = element ? element.id : node.id;
    const parent = (element ? element.parentId : node.parentId) ?? 0;
    if (!isLayer(node)) boxes[at] = unionBoxes([boxes[at]!, below.get(id) ?? null]);
    below.set(parent, unionBoxes([below.get(parent) ?? null, boxes[at]!, below.get(id) ?? null]));
    await pause();
  }
  return boxes;
}

const treeParameters = {
  type: choice("`publish`: the publication tree; `full`: all folders and layers.", ["publish", "full"]),
  returnBbox: flag("Whether to include bounding boxes; the box of a folder encloses its layers."),
  bboxSR: srid("Coordinate system (EPSG) of the bounding boxes."),
  returnCss: flag("Whether to include CartoCSS."),
  with_access: flag("Whether to include the caller's rights."),
};

async function tree(
  request: Request,
  services: Services,
  { query }: Input<typeof treeParameters, undefined>,
): Promise<Reply> {
  const context = await mapContext(request, services);
  requireRead(context.map, context.caller);
  const { type, returnBbox, bboxSR, returnCss, with_access: access } = query();
  const options = {
    full: type === "full",
    grouped: true,
    css: returnCss,
    boxSrid: returnBbox ? bboxSR : undefined,
    access,
  };
  const { map, caller } = context;
  // Who then listens for changes hears what has changed since.
  const state = { "x-map-state": mapStateOf(services.versions.epoch, map) };
  if (returnBbox || !isOfCatalogue(map))
    return withHeaders(await treeAnswer(services, context, options), state);
  const view = knownView(context.view, map.project);
  const by = ["tree", caller.accountId, view.language, view.path, options];
  const text = await services.texts.of({ of: [map], by }, () =>
    treeText(services, { ...context, view }, options),
  );
  return withHeaders(answerKept(caller, text), state);
}

export const treeOperations: readonly Operation[] = [
  operation({
    id: "getLayerTree",
    tag: "Maps",
    summary: "Get the layer tree of a map",
    details:
      "A list in depth-first order, each folder before its content. Elements that the caller may not read are omitted. " +
      "The published tree of a map with `group_layers` has one element, for the map, with its id.",
    methods: ["GET"],
    path: `${mapPath}/layers/`,
    isKeptByCdn: true,
    shows: treeResource,
    query: treeParameters,
    answer: {
      ...answers("The elements.", { type: "array", items: ref("TreeElement") }),
      headers: {
        "X-Map-State": "Which state of the map it is: for `state` of those who then listen for its changes.",
      },
    },
    handle: tree,
  }),
];
