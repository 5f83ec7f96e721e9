/** How far a click is from an object, in pixels of the screen. Knows no page. */

export interface Pixel {
  readonly x: number;
  readonly y: number;
}
/** Where a position ([lon, lat]) is on the screen. */
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
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < line.length; i++)
    least = Math.min(least, toSegment(p, line[Math.max(0, i - 1)]!, line[i]!));
  return least;
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

/** The least distance of all parts, of which there can be more than a call has room for arguments. */
const least = <Part>(parts: readonly Part[], distance: (part: Part) => number): number =>
  parts.reduce((nearest, part) => Math.min(nearest, distance(part)), Number.POSITIVE_INFINITY);

/** Pixels from `click` to the geometry; 0 inside a polygon, infinite where there is no geometry. */
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
    return least(drawn, (ring) => toLine(click, ring));
  };
  switch (geometry.type) {
    case "Point":
      return line([geometry.coordinates]);
    case "MultiPoint":
      return least(geometry.coordinates, (position) => line([position]));
    case "LineString":
      return line(geometry.coordinates);
    case "MultiLineString":
      return least(geometry.coordinates, line);
    case "Polygon":
      return polygon(geometry.coordinates);
    case "MultiPolygon":
      return least(geometry.coordinates, polygon);
    case "GeometryCollection":
      return least(geometry.geometries, (part) => pixelDistance(part, click, project));
  }
}
