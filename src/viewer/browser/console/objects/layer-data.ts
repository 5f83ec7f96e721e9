import type { TreeItem } from "../../layer-tree.js";
import type { ColumnInfo, FoundItem, MapServer } from "../../map-server.js";
import type { Click } from "../../objects.js";
import type { ObjectsOf, ObjectsParts } from "../object-parts.js";
import { readForm } from "../style-form.js";
import { type Constraint, ObjectStore } from "./object-store.js";
import { type Shape, type ShapeKind, shapeOf } from "./shape.js";
import type { Neighbour } from "./snapping.js";

/** What is known of a layer before its objects are edited. */

export interface LayerData {
  readonly store: ObjectStore;
  readonly columns: readonly ColumnInfo[];
  readonly constraints: readonly Constraint[];
  /** Of objects that can be made. */
  readonly kinds: readonly ShapeKind[];
}

/** @throws ServerError */
export async function readLayer(
  { edits }: Pick<ObjectsParts, "edits">,
  { mapId, item, languages }: ObjectsOf,
  server: MapServer,
): Promise<LayerData> {
  const columns = await server.structure(mapId, item.element.code);
  const store = new ObjectStore(edits, mapId, item.element.code, languages, columns);
  const [constraints, some] = await Promise.all([store.constraints(), store.anyGeometry()]);
  return { store, columns, constraints, kinds: kindsOf(item, shapeOf(some)) };
}

/** The server, asked anew after a session has ended and was begun again in place. */
export function serverInSession(
  { server, edits }: Pick<ObjectsParts, "server" | "edits">,
  project: string,
): MapServer {
  const inSession = Object.create(server) as MapServer;
  inSession.answer = (...asked) => edits.inSession(project, () => server.answer(...asked));
  inSession.structure = (...asked) => edits.inSession(project, () => server.structure(...asked));
  inSession.identify = (...asked) => edits.inSession(project, () => server.identify(...asked));
  return inSession;
}

const kindOfSymbol = { point: "Point", line: "LineString", polygon: "Polygon" } as const;
const allKinds: readonly ShapeKind[] = ["Point", "LineString", "Polygon"];

/** What is drawn in a layer: what its style draws and what it has already; all, where neither tells. */
function kindsOf({ element }: TreeItem, some: Shape | undefined): readonly ShapeKind[] {
  const drawn = readForm(element.css_style ?? "")?.symbols.map(({ kind }) => kindOfSymbol[kind]) ?? [];
  const known = new Set<ShapeKind>([...drawn, ...(some ? [some.kind] : [])]);
  return allKinds.filter((kind) => known.size === 0 || known.has(kind));
}

/** The uppermost object of the layer at a place of the map. @throws ServerError, AbortError */
export async function pressedObject(
  server: MapServer,
  { mapId, item }: ObjectsOf,
  map: L.Map,
  { latlng, radius }: Click,
  signal: AbortSignal,
): Promise<FoundItem | undefined> {
  const zoom = Math.min(22, Math.round(map.getZoom()));
  const { lat, lng } = latlng.wrap();
  const query = {
    point: `${lat.toFixed(7)},${lng.toFixed(7)}`,
    ...{ zoom, tolerance: radius, layers: String(item.layerId), limit: 1, fields: "svc_id", returnGeom: 1 },
    geomZoom: Math.min(22, zoom + 1),
  };
  const [object] = await server.identify(mapId, query, signal);
  return object;
}

/** Of more objects nobody could say which one a place is drawn to. */
const mostNeighbours = 200;
const mostNeighbourBytes = 8 * 2 ** 20;

/** The objects of the layer in a box, with their exact geometries; undefined = there are too many. @throws ServerError, AbortError */
export async function neighbours(
  server: MapServer,
  { mapId: { project, map }, item }: ObjectsOf,
  bounds: L.LatLngBounds,
  signal: AbortSignal,
): Promise<readonly Neighbour[] | undefined> {
  // Where the map shows the world more than once, all of it.
  const isWide = bounds.getEast() - bounds.getWest() >= 360;
  const [sw, ne] = [bounds.getSouthWest(), bounds.getNorthEast()].map((corner) => corner.wrap());
  const [west, east] = isWide ? [-180, 180] : [sw!.lng, ne!.lng];
  const [south, north] = [Math.max(sw!.lat, -90), Math.min(ne!.lat, 90)];
  const query = {
    ...{ fields: "svc_id", returnGeom: 1, limit: mostNeighbours + 1 },
    fbbox: [south, west, north, east].map((degrees) => degrees.toFixed(6)).join(),
  };
  const segments = [map, "layers", item.element.code, "objects"];
  const answer = await server.answer(project, segments, query, { method: "GET", signal });
  const text = await limited(answer, mostNeighbourBytes);
  if (text === undefined) return undefined;
  const found = JSON.parse(text) as readonly Neighbour[];
  return found.length > mostNeighbours ? undefined : found;
}

/** The text of an answer; undefined = it is longer. */
async function limited({ body }: Response, most: number): Promise<string | undefined> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length <= most) continue;
    await reader?.cancel();
    return undefined;
  }
  return text;
}
