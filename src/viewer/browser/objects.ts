import { ownColumns } from "./attributes.js";
import { type Pixel, pixelDistance } from "./distance.js";
import type { LayerTree, TreeItem } from "./layer-tree.js";
import type { ColumnInfo, MapId, MapServer, ObjectItem } from "./map-server.js";
import { visibilityOf } from "./style-visibility.js";

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
  /** Columns by layer code; empty when they are not known. */
  readonly columns: ReadonlyMap<string, readonly ColumnInfo[]>;
}

/** Whether a layer's objects have attributes; assumed when its columns are not known. */
const hasAttributes = (columns: readonly ColumnInfo[]): boolean =>
  columns.length === 0 || ownColumns(columns).some(({ type }) => type !== "title");

export interface Click {
  readonly latlng: L.LatLng;
  /** Search radius in pixels. */
  readonly radius: number;
}

interface Measured extends Pick<Hit, "object" | "shift"> {
  /** From the click. */
  readonly pixels: number;
}

const maxPerLayer = 30;
const maxConcurrent = 4;

/** Reads a viewer setting from a layer's `json`: `{"viewer": {"sort": "population,d", "title": "name"}}`. */
export function viewerSetting(layer: TreeItem, name: "sort" | "title"): string | undefined {
  const settings = layer.element.json?.viewer;
  if (typeof settings !== "object" || settings === null) return undefined;
  const value = (settings as Record<string, unknown>)[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

const wrapLon = (lon: number): number => ((((lon + 180) % 360) + 360) % 360) - 180;

/** The box around a click as `fbbox` of the API: SW_LAT,SW_LON,NE_LAT,NE_LON. */
function boxAround(map: L.Map, click: Click): string {
  const at = map.latLngToContainerPoint(click.latlng);
  const sw = map.containerPointToLatLng(at.add([-click.radius, click.radius]));
  const ne = map.containerPointToLatLng(at.add([click.radius, -click.radius]));
  const lon = ne.lng - sw.lng >= 360 ? [-180, 180] : [wrapLon(sw.lng), wrapLon(ne.lng)];
  const corners = [Math.max(-90, sw.lat), lon[0]!, Math.min(90, ne.lat), lon[1]!];
  return corners.map((degrees) => Number(degrees.toFixed(7))).join(",");
}

/**
 * Visible objects at a click. Layers without attributes are skipped.
 * @throws ServerError when all layers failed; single layers that fail count as empty
 */
export async function findObjects(
  context: {
    readonly server: MapServer;
    readonly map: L.Map;
    readonly mapId: MapId;
    readonly tree: LayerTree;
    columnsOf(mapId: MapId, layer: string): Promise<readonly ColumnInfo[]>;
  },
  click: Click,
  signal: AbortSignal,
): Promise<Hits> {
  const { map } = context;
  const layers = context.tree.queryable;
  const fbbox = boxAround(map, click);
  const clicked = click.latlng.lng - wrapLon(click.latlng.lng);
  const at = map.latLngToContainerPoint(click.latlng);
  /** How far the object is, where it is nearest: beside 180 degrees, or beyond, that may be a turn away. */
  const nearest = (object: ObjectItem): Measured =>
    [0, -360, 360]
      .map((turn): Measured => {
        const shift = clicked + turn;
        const onScreen = (position: readonly number[]): Pixel =>
          map.latLngToContainerPoint([position[1] ?? 0, (position[0] ?? 0) + shift]);
        return { object, shift, pixels: pixelDistance(object.geom, at, onScreen) };
      })
      .reduce((best, one) => (one.pixels < best.pixels ? one : best));
  const zoom = Math.min(22, Math.round(map.getZoom()));
  const found: (Hit[] | undefined)[] = layers.map(() => undefined);
  const columns = new Map<string, readonly ColumnInfo[]>();
  let hasMore = false;
  let failure: unknown;
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < layers.length; index = next++) {
      const layer = layers[index]!;
      const isVisible = visibilityOf(layer.element.css_style ?? "");
      const sort = viewerSetting(layer, "sort");
      try {
        const layerColumns = await context.columnsOf(context.mapId, layer.element.code);
        if (!hasAttributes(layerColumns)) {
          found[index] = [];
          continue;
        }
        columns.set(layer.element.code, layerColumns);
        const query = {
          fields: "*",
          fbbox,
          limit: maxPerLayer,
          sort: sort ?? validSort(isVisible.sort, layerColumns),
          returnGeom: 1,
          // One zoom more for screens with a high pixel density.
          geomZoom: Math.min(22, zoom + 1),
        };
        const from = { layer: layer.element.code, columns: layerColumns };
        const all = await context.server.objects(context.mapId, from, query, signal);
        const objects = all.filter((object) => isVisible(zoom, object.fields ?? {}));
        hasMore ||= objects.length === maxPerLayer;
        const measured = objects.map(nearest);
        // A click inside a polygon selects it, not neighbours whose border is near.
        const inside = measured.some(({ object, pixels }) => pixels === 0 && isArea(object.geom));
        found[index] = measured
          .filter(({ object, pixels }) => !inside || pixels === 0 || !isArea(object.geom))
          .sort((a, b) => (sort ? 0 : a.pixels - b.pixels))
          .map(({ object, shift }) => ({ layer, object, shift }));
      } catch (error) {
        if (signal.aborted) throw error;
        failure = error;
      }
    }
  };
  await Promise.all(Array.from({ length: maxConcurrent }, worker));
  if (failure && found.every((hits) => hits === undefined)) throw failure;
  return { hits: found.flatMap((hits) => hits ?? []), hasMore, columns };
}

/** The sort order from the style, if the layer has that column. */
const validSort = (sort: string | undefined, columns: readonly ColumnInfo[]): string | undefined =>
  columns.some(({ code }) => code === sort?.split(",")[0]) ? sort : undefined;

const isArea = (geometry: GeoJSON.Geometry | null | undefined): boolean =>
  geometry?.type === "Polygon" || geometry?.type === "MultiPolygon";
