import { type Pixel, pixelDistance } from "./distance.js";
import { type Box, isWholeMap, type LayerTree, type TreeItem, unlisted } from "./layer-tree.js";
import type { ColumnInfo, FoundItem, MapId, MapServer, ObjectItem } from "./map-server.js";
import { ownColumns } from "./value-columns.js";

/** Finds the objects at a click on the map. */

export interface Hit {
  readonly layer: TreeItem;
  readonly object: ObjectItem;
  /** Degrees of longitude to add to the geometry, so that it is in the copy of the world that was clicked. */
  readonly shift: number;
}
export interface Hits {
  /** Top layer first; within a layer the nearest object first. */
  readonly hits: readonly Hit[];
  /** A layer has more objects here than were requested. */
  readonly hasMore: boolean;
}
/** Objects that are drawn as one circle, which parts where their box fills the map. */
export interface Cluster {
  readonly box: Box;
}

export interface Click {
  readonly latlng: L.LatLng;
  /** Search radius in pixels. */
  readonly radius: number;
}

const maxPerLayer = 30;

/** Reads a viewer setting from a layer's `json`: `{"viewer": {"sort": "population,d", "title": "name"}}`. */
export function viewerSetting(layer: TreeItem, name: "sort" | "title"): string | undefined {
  const value = settingOf(layer, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Codes of the columns that a description shows, in their order, from `viewer.columns`; undefined = all. */
export function shownCodes(layer: TreeItem): readonly string[] | undefined {
  const codes = settingOf(layer, "columns");
  return Array.isArray(codes) ? [...new Set(codes.filter((code) => typeof code === "string"))] : undefined;
}

const settingOf = (layer: TreeItem, name: string): unknown => {
  const settings = layer.element.json?.viewer;
  return typeof settings === "object" && settings !== null && Object.hasOwn(settings, name)
    ? (settings as Record<string, unknown>)[name]
    : undefined;
};

const wrapLon = (lon: number): number => ((((lon + 180) % 360) + 360) % 360) - 180;

/**
 * Visible objects at a click, in one request, or the circle that lies uppermost there. Layers without attributes are skipped.
 * @throws ServerError
 */
export async function findObjects(
  context: {
    readonly server: MapServer;
    readonly map: L.Map;
    readonly mapId: MapId;
    readonly tree: LayerTree;
    columnsOf(mapId: MapId, layer: string): Promise<readonly ColumnInfo[]>;
  },
  { latlng, radius }: Click,
  signal: AbortSignal,
): Promise<Hits | Cluster> {
  const { map, mapId, tree } = context;
  if (tree.queryable.length === 0) return { hits: [], hasMore: false };
  const zoom = Math.min(22, Math.round(map.getZoom()));
  const found = await context.server.identify(
    mapId,
    {
      point: `${Number(latlng.lat.toFixed(7))},${Number(wrapLon(latlng.lng).toFixed(7))}`,
      zoom,
      tolerance: radius,
      layers: tree.selection && (tree.selection.join(",") || "0"),
      limit: maxPerLayer,
      fields: "*",
      returnGeom: 1,
      // One zoom more for screens with a high pixel density.
      geomZoom: Math.min(22, zoom + 1),
    },
    signal,
  );
  const uppermost = found[0]?.cluster;
  if (uppermost) return { box: turned(uppermost.bbox, latlng.lng - wrapLon(latlng.lng)) };
  const byLayer = new Map<number, FoundItem[]>();
  for (const item of found)
    if (!item.cluster) byLayer.set(item.layer_id, [...(byLayer.get(item.layer_id) ?? []), item]);
  const hits = await Promise.all(
    [...byLayer].map(async ([id, objects]): Promise<Hit[]> => {
      const shown = tree.leaves.find((leaf) => leaf.layerId === id || isWholeMap(leaf));
      const layer = shown && isWholeMap(shown) ? unlisted(objects[0]!.layer, shown.title) : shown;
      if (!layer) return [];
      const isBare = objects.every(hasIdAlone);
      if (isBare && !hasAttributes(await context.columnsOf(mapId, layer.element.code))) return [];
      return sorted(layer, objects).map((object) => ({ layer, object, shift: shiftOf(map, latlng, object) }));
    }),
  );
  return { hits: hits.flat(), hasMore: [...byLayer.values()].some((all) => all.length === maxPerLayer) };
}

const turned = ({ sw, ne }: Box, degrees: number): Box => ({
  sw: [sw[0], sw[1] + degrees],
  ne: [ne[0], ne[1] + degrees],
});

/** Whether an object may have no attributes: all its values are its id, which may have several names. */
const hasIdAlone = ({ id, fields = {} }: ObjectItem): boolean =>
  Object.values(fields).every((value) => value === id);

/** Whether a layer's objects have attributes; assumed when its columns are not known. */
const hasAttributes = (columns: readonly ColumnInfo[]): boolean =>
  columns.length === 0 || ownColumns(columns).some(({ type }) => type !== "title");

/** The objects in the order that the layer asks for, else as they are; empty values last. */
function sorted(layer: TreeItem, objects: readonly ObjectItem[]): readonly ObjectItem[] {
  const [code = "", direction] = viewerSetting(layer, "sort")?.split(",") ?? [];
  if (code === "") return objects;
  const sign = direction === "d" ? -1 : 1;
  const valueIn = ({ fields }: ObjectItem) => fields?.[code];
  return [...objects].sort((a, b) => {
    const [one, other] = [valueIn(a) ?? undefined, valueIn(b) ?? undefined];
    if (one === undefined || other === undefined)
      return Number(one === undefined) - Number(other === undefined);
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * String(one).localeCompare(String(other));
  });
}

/** Where the object is nearest to the click: beside 180 degrees, or beyond, that may be a turn away. */
export function shiftOf(map: L.Map, latlng: L.LatLng, { geom }: ObjectItem): number {
  const clicked = latlng.lng - wrapLon(latlng.lng);
  const at = map.latLngToContainerPoint(latlng);
  const nearest = [0, -360, 360]
    .map((turn) => {
      const shift = clicked + turn;
      const onScreen = (position: readonly number[]): Pixel =>
        map.latLngToContainerPoint([position[1] ?? 0, (position[0] ?? 0) + shift]);
      return { shift, pixels: pixelDistance(geom, at, onScreen) };
    })
    .reduce((best, one) => (one.pixels < best.pixels ? one : best));
  return nearest.shift;
}

/** The middle of an object; undefined when it has no place. */
export function centerOf({ geom }: ObjectItem): L.LatLng | undefined {
  const bounds = geom ? L.geoJSON(geom).getBounds() : undefined;
  return bounds?.isValid() ? bounds.getCenter() : undefined;
}
