import { ownColumns } from "./attributes.js";
import { type Pixel, pixelDistance } from "./distance.js";
import { drawnBy } from "./drawn.js";
import type { LayerTree, TreeItem } from "./layer-tree.js";
import type { ColumnInfo, MapPlace, MapServer, ObjectItem } from "./map-server.js";

/** Finds the objects at a place of the map. */

export interface Hit {
  readonly layer: TreeItem;
  readonly object: ObjectItem;
  /** Degrees of longitude from the stored geometry to the copy of the world that was clicked. */
  readonly shift: number;
}
export interface Hits {
  /** Of the top layer first, and in a layer the nearest first. */
  readonly hits: readonly Hit[];
  /** A layer has more objects here than were asked for. */
  readonly hasMore: boolean;
  /** Columns by layer code; a layer without any shows the codes of its fields. */
  readonly columns: ReadonlyMap<string, readonly ColumnInfo[]>;
}

/** Whether a layer's objects have something to tell; a layer whose columns are not known may have. */
const hasAttributes = (columns: readonly ColumnInfo[]): boolean =>
  columns.length === 0 || ownColumns(columns).some(({ type }) => type !== "title");

export interface Click {
  readonly latlng: L.LatLng;
  /** Pixels around the place that still count. */
  readonly radius: number;
}

const perLayer = 30;
const atOnce = 4;

/** What a layer's settings may tell the viewer: `{"viewer": {"sort": "population,d", "title": "name"}}`. */
export function viewerSetting(layer: TreeItem, name: "sort" | "title"): string | undefined {
  const settings = layer.element.json?.viewer;
  if (typeof settings !== "object" || settings === null) return undefined;
  const value = (settings as Record<string, unknown>)[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

const wrapLon = (lon: number): number => ((((lon + 180) % 360) + 360) % 360) - 180;

/** The box around a click as the API wants it: SW_LAT,SW_LON,NE_LAT,NE_LON. */
function boxAround(map: L.Map, click: Click): string {
  const at = map.latLngToContainerPoint(click.latlng);
  const sw = map.containerPointToLatLng(at.add([-click.radius, click.radius]));
  const ne = map.containerPointToLatLng(at.add([click.radius, -click.radius]));
  const lon = ne.lng - sw.lng >= 360 ? [-180, 180] : [wrapLon(sw.lng), wrapLon(ne.lng)];
  const corners = [Math.max(-90, sw.lat), lon[0]!, Math.min(90, ne.lat), lon[1]!];
  return corners.map((degrees) => Number(degrees.toFixed(7))).join(",");
}

/**
 * Objects of the layers that are on, at a click. Layers without attributes are passed over.
 * @throws ServerError when no layer could be asked; a layer that refuses alone counts as empty
 */
export async function findObjects(
  of: {
    readonly server: MapServer;
    readonly map: L.Map;
    readonly place: MapPlace;
    readonly tree: LayerTree;
    columnsOf(place: MapPlace, layer: string): Promise<readonly ColumnInfo[]>;
  },
  click: Click,
  signal: AbortSignal,
): Promise<Hits> {
  const { map } = of;
  const layers = of.tree.queryable;
  const fbbox = boxAround(map, click);
  const shift = click.latlng.lng - wrapLon(click.latlng.lng);
  const at = map.latLngToContainerPoint(click.latlng);
  const onScreen = (position: readonly number[]): Pixel =>
    map.latLngToContainerPoint([position[1] ?? 0, (position[0] ?? 0) + shift]);
  const zoom = Math.min(22, Math.round(map.getZoom()));
  const found: (Hit[] | undefined)[] = layers.map(() => undefined);
  const columns = new Map<string, readonly ColumnInfo[]>();
  let hasMore = false;
  let failure: unknown;
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < layers.length; index = next++) {
      const layer = layers[index]!;
      const drawn = drawnBy(layer.element.css_style ?? "");
      const sort = viewerSetting(layer, "sort");
      try {
        const layerColumns = await of.columnsOf(of.place, layer.element.code);
        if (!hasAttributes(layerColumns)) {
          found[index] = [];
          continue;
        }
        columns.set(layer.element.code, layerColumns);
        const query = {
          fields: "*",
          fbbox,
          limit: perLayer,
          sort: sort ?? knownSort(drawn.sort, layerColumns),
          returnGeom: 1,
          // Screens of high density show half a pixel too.
          geomZoom: Math.min(22, zoom + 1),
        };
        const from = { layer: layer.element.code, columns: layerColumns };
        const all = await of.server.objects(of.place, from, query, signal);
        const objects = all.filter((object) => drawn(zoom, object.fields ?? {}));
        hasMore ||= objects.length === perLayer;
        const measured = objects.map((object) => ({
          object,
          pixels: pixelDistance(object.geom, at, onScreen),
        }));
        // A click inside an area means that area, not the neighbours whose border is near.
        const inside = measured.some(({ object, pixels }) => pixels === 0 && isArea(object.geom));
        found[index] = measured
          .filter(({ object, pixels }) => !inside || pixels === 0 || !isArea(object.geom))
          .sort((a, b) => (sort ? 0 : a.pixels - b.pixels))
          .map(({ object }) => ({ layer, object, shift }));
      } catch (error) {
        if (signal.aborted) throw error;
        failure = error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failure && found.every((hits) => hits === undefined)) throw failure;
  return { hits: found.flatMap((hits) => hits ?? []), hasMore, columns };
}

/** The style's order where the layer has that column. */
const knownSort = (sort: string | undefined, columns: readonly ColumnInfo[]): string | undefined =>
  columns.some(({ code }) => code === sort?.split(",")[0]) ? sort : undefined;

const isArea = (geometry: GeoJSON.Geometry | null | undefined): boolean =>
  geometry?.type === "Polygon" || geometry?.type === "MultiPolygon";
