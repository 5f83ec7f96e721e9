import type { Position } from "./shape.js";

/** The vertex or the edge of geometries that is nearest to a place, on the map as it is seen. Does not depend on the DOM. */

export interface Near {
  readonly position: Position;
  readonly isVertex: boolean;
}

/** How far vertices and edges reach, in degrees of longitude at the place. */
export interface Reach {
  readonly vertex: number;
  readonly edge: number;
}

/**
 * A vertex within reach before any edge: where areas meet, their corners shall meet.
 * @param place longitude and latitude
 */
export function nearest(
  geometries: readonly GeoJSON.Geometry[],
  place: readonly [lon: number, lat: number],
  reach: Reach,
): Near | undefined {
  const search = new Search(place);
  for (const geometry of geometries) search.look(geometry);
  if (search.vertex && search.vertexAway <= reach.vertex) return { position: search.vertex, isVertex: true };
  if (search.edge && search.edgeAway <= reach.edge) return { position: search.edge, isVertex: false };
  return undefined;
}

class Search {
  vertex: Position | undefined;
  vertexAway = Infinity;
  edge: Position | undefined;
  edgeAway = Infinity;
  /** A degree of latitude is so many of longitude, on maps and near the place. */
  private readonly stretch: number;

  constructor(private readonly place: readonly [lon: number, lat: number]) {
    this.stretch = 1 / Math.max(0.01, Math.cos((place[1] * Math.PI) / 180));
  }

  look(geometry: GeoJSON.Geometry): void {
    switch (geometry.type) {
      case "GeometryCollection":
        for (const one of geometry.geometries) this.look(one);
        return;
      case "Point":
        this.lookAtPoint(geometry.coordinates);
        return;
      case "MultiPoint":
        for (const point of geometry.coordinates) this.lookAtPoint(point);
        return;
      case "LineString":
        this.lookAtLine(geometry.coordinates);
        return;
      case "MultiLineString":
      case "Polygon":
        for (const line of geometry.coordinates) this.lookAtLine(line);
        return;
      case "MultiPolygon":
        for (const line of geometry.coordinates.flat()) this.lookAtLine(line);
    }
  }

  private lookAtPoint(point: Position): void {
    const x = point[0]! - this.place[0];
    const y = (point[1]! - this.place[1]) * this.stretch;
    const away = Math.hypot(x, y);
    if (away < this.vertexAway) [this.vertex, this.vertexAway] = [point, away];
  }

  private lookAtLine(line: readonly Position[]): void {
    let before: Position | undefined;
    for (const point of line) {
      this.lookAtPoint(point);
      if (before) this.lookAtEdge(before, point);
      before = point;
    }
  }

  private lookAtEdge(from: Position, to: Position): void {
    const [lon, lat] = this.place;
    const [ax, ay] = [from[0]! - lon, (from[1]! - lat) * this.stretch];
    const [dx, dy] = [to[0]! - from[0]!, (to[1]! - from[1]!) * this.stretch];
    const length = dx * dx + dy * dy;
    if (length === 0) return;
    const share = Math.min(1, Math.max(0, -(ax * dx + ay * dy) / length));
    const away = Math.hypot(ax + dx * share, ay + dy * share);
    if (away >= this.edgeAway) return;
    this.edgeAway = away;
    this.edge = [from[0]! + (to[0]! - from[0]!) * share, from[1]! + (to[1]! - from[1]!) * share];
  }
}
