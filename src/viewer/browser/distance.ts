/** Distance between a click and an object's geometry in screen pixels. Does not depend on the DOM. */

export interface Pixel {
  readonly x: number;
  readonly y: number;
}
/** Projects a position ([lon, lat]) to the screen. */
export type Project = (position: readonly number[]) => Pixel;

/** Distance of `p` from the segment a–b. */
function toSegment(p: Pixel, a: Pixel, b: Pixel): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((p.x - a.x) * dx + (p.y - a.y) * dy) / length));
  return Math.hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

function toLine(p: Pixel, line: readonly Pixel[]): number {
  let min = Number.POSITIVE_INFINITY;
  for (let i = 0; i < line.length; i++)
    min = Math.min(min, toSegment(p, line[Math.max(0, i - 1)]!, line[i]!));
  return min;
}

/** Whether a ray from `p` crosses the ring an odd number of times. */
function inRing(p: Pixel, ring: readonly Pixel[]): boolean {
  let inside = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
    const a = ring[i]!;
    const b = ring[j]!;
    if (a.y > p.y !== b.y > p.y && p.x < ((b.x - a.x) * (p.y - a.y)) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

/** The minimum distance of all parts. (`Math.min(...)` would fail for very many.) */
const minDistance = <Part>(parts: readonly Part[], distance: (part: Part) => number): number =>
  parts.reduce((nearest, part) => Math.min(nearest, distance(part)), Number.POSITIVE_INFINITY);

/** Pixels from `click` to the geometry; 0 inside a polygon, Infinity without geometry. */
export function pixelDistance(
  geometry: GeoJSON.Geometry | null | undefined,
  click: Pixel,
  project: Project,
): number {
  if (!geometry) return Number.POSITIVE_INFINITY;
  const line = (positions: GeoJSON.Position[]) => toLine(click, positions.map(project));
  const polygon = (rings: GeoJSON.Position[][]) => {
    const drawn = rings.map((ring) => ring.map(project));
    const [outer, ...holes] = drawn;
    if (outer && inRing(click, outer) && !holes.some((hole) => inRing(click, hole))) return 0;
    return minDistance(drawn, (ring) => toLine(click, ring));
  };
  switch (geometry.type) {
    case "Point":
      return line([geometry.coordinates]);
    case "MultiPoint":
      return minDistance(geometry.coordinates, (position) => line([position]));
    case "LineString":
      return line(geometry.coordinates);
    case "MultiLineString":
      return minDistance(geometry.coordinates, line);
    case "Polygon":
      return polygon(geometry.coordinates);
    case "MultiPolygon":
      return minDistance(geometry.coordinates, polygon);
    case "GeometryCollection":
      return minDistance(geometry.geometries, (part) => pixelDistance(part, click, project));
  }
}
