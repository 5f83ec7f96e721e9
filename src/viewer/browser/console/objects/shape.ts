/** Geometries as lists of vertices, which are moved, added and taken away. Does not depend on the DOM. */

/** Longitude, latitude and, of some, a height. */
export type Position = readonly number[];
export type ShapeKind = "Point" | "LineString" | "Polygon";

export interface Shape {
  readonly kind: ShapeKind;
  /** Whether it is sent as one of several parts, even with one. */
  readonly isMulti: boolean;
  /** Of points and lines each part has one ring; rings of areas are without the position that closes them. */
  readonly parts: readonly (readonly (readonly Position[])[])[];
}

export interface VertexAt {
  readonly part: number;
  readonly ring: number;
  readonly index: number;
}

/** A ring has so many vertices at least. */
export const leastVertices: Readonly<Record<ShapeKind, number>> = { Point: 1, LineString: 2, Polygon: 3 };

/** Undefined for what is of several kinds, or empty. */
export function shapeOf(geometry: GeoJSON.Geometry | null | undefined): Shape | undefined {
  const shape = read(geometry);
  return shape && shape.parts.length > 0 ? shape : undefined;
}

function read(geometry: GeoJSON.Geometry | null | undefined): Shape | undefined {
  switch (geometry?.type) {
    case "Point":
      return geometry.coordinates.length > 0
        ? { kind: "Point", isMulti: false, parts: [[[geometry.coordinates]]] }
        : undefined;
    case "MultiPoint":
      return { kind: "Point", isMulti: true, parts: geometry.coordinates.map((position) => [[position]]) };
    case "LineString":
      return { kind: "LineString", isMulti: false, parts: linesOf([geometry.coordinates]) };
    case "MultiLineString":
      return { kind: "LineString", isMulti: true, parts: linesOf(geometry.coordinates) };
    case "Polygon":
      return { kind: "Polygon", isMulti: false, parts: areasOf([geometry.coordinates]) };
    case "MultiPolygon":
      return { kind: "Polygon", isMulti: true, parts: areasOf(geometry.coordinates) };
    default:
      return undefined;
  }
}

const linesOf = (lines: readonly (readonly Position[])[]): Shape["parts"] =>
  lines.filter((line) => line.length > 0).map((line) => [line]);

const areasOf = (areas: readonly (readonly (readonly Position[])[])[]): Shape["parts"] =>
  areas.map((rings) => rings.map((ring) => ring.slice(0, -1))).filter((rings) => (rings[0]?.length ?? 0) > 0);

const plain = (position: Position): number[] => [...position];
const closed = (ring: readonly Position[]): number[][] => [...ring, ring[0]!].map(plain);

export function geometryOf({ kind, isMulti, parts }: Shape): GeoJSON.Geometry {
  const isOne = !isMulti && parts.length === 1;
  switch (kind) {
    case "Point": {
      const positions = parts.map(([ring]) => plain(ring![0]!));
      return isOne
        ? { type: "Point", coordinates: positions[0]! }
        : { type: "MultiPoint", coordinates: positions };
    }
    case "LineString": {
      const lines = parts.map(([ring]) => ring!.map(plain));
      return isOne
        ? { type: "LineString", coordinates: lines[0]! }
        : { type: "MultiLineString", coordinates: lines };
    }
    case "Polygon": {
      const areas = parts.map((rings) => rings.map(closed));
      return isOne
        ? { type: "Polygon", coordinates: areas[0]! }
        : { type: "MultiPolygon", coordinates: areas };
    }
  }
}

export const positionAt = ({ parts }: Shape, { part, ring, index }: VertexAt): Position | undefined =>
  parts[part]?.[ring]?.[index];

/** All vertices, in order. */
export function verticesOf({ parts }: Shape): VertexAt[] {
  return parts.flatMap((rings, part) =>
    rings.flatMap((vertices, ring) => vertices.map((_, index) => ({ part, ring, index }))),
  );
}

const withRing = (
  shape: Shape,
  at: VertexAt,
  change: (ring: readonly Position[]) => readonly Position[],
) => ({
  ...shape,
  parts: shape.parts.map((rings, part) =>
    part === at.part
      ? rings.map((vertices, ring) => (ring === at.ring ? change(vertices) : vertices))
      : rings,
  ),
});

/** Seven digits are a centimetre; more would be noise of the screen. */
export const rounded = (value: number): number => Number(value.toFixed(7));

/** Moves a vertex; its height stays. */
export const withVertex = (shape: Shape, at: VertexAt, lon: number, lat: number): Shape =>
  withRing(shape, at, (ring) =>
    ring.map((old, index) => (index === at.index ? [lon, lat, ...old.slice(2)] : old)),
  );

/** Adds a vertex after another one. */
export const withVertexAfter = (shape: Shape, at: VertexAt, lon: number, lat: number): Shape =>
  withRing(shape, at, (ring) => [
    ...ring.slice(0, at.index + 1),
    [lon, lat, ...ring[at.index]!.slice(2)],
    ...ring.slice(at.index + 1),
  ]);

/** Takes a vertex away, and with it a hole or a part that is none without it; undefined = nothing would be left. */
export function withoutVertex(shape: Shape, at: VertexAt): Shape | undefined {
  const ring = shape.parts[at.part]?.[at.ring];
  if (!ring) return shape;
  if (ring.length > leastVertices[shape.kind])
    return withRing(shape, at, (vertices) => vertices.filter((_, index) => index !== at.index));
  const parts =
    at.ring > 0
      ? shape.parts.map((rings, part) =>
          part === at.part ? rings.filter((_, place) => place !== at.ring) : rings,
        )
      : shape.parts.filter((_, part) => part !== at.part);
  return parts.length > 0 ? { ...shape, parts } : undefined;
}

/** Moves all vertices. @param move gives the new longitude and latitude */
export const movedShape = (
  shape: Shape,
  move: (lon: number, lat: number) => readonly [lon: number, lat: number],
): Shape => ({
  ...shape,
  parts: shape.parts.map((rings) =>
    rings.map((vertices) =>
      vertices.map((old) => {
        const [lon, lat] = move(old[0]!, old[1]!);
        return [rounded(lon), rounded(lat), ...old.slice(2)];
      }),
    ),
  ),
});

/** A shape of what was drawn. */
export const drawnShape = (kind: ShapeKind, positions: readonly Position[]): Shape => ({
  kind,
  isMulti: false,
  parts: [[positions.map(([lon, lat]) => [lon!, lat!])]],
});

export const withPart = (shape: Shape, drawn: Shape): Shape => ({
  ...shape,
  isMulti: true,
  parts: [...shape.parts, ...drawn.parts],
});

/** Cuts a hole into the part that its first vertex lies in; undefined = it lies in none. */
export function withHole(shape: Shape, hole: readonly Position[]): Shape | undefined {
  const [first] = hole;
  const part = shape.parts.findIndex(([outer]) => first && outer && isWithin(first, outer));
  if (part < 0) return undefined;
  const ring = hole.map(([lon, lat]) => [lon!, lat!]);
  return { ...shape, parts: shape.parts.map((rings, at) => (at === part ? [...rings, ring] : rings)) };
}

function isWithin([x = 0, y = 0]: Position, ring: readonly Position[]): boolean {
  let isInside = false;
  for (let at = 0, before = ring.length - 1; at < ring.length; before = at++) {
    const [ax = 0, ay = 0] = ring[at]!;
    const [bx = 0, by = 0] = ring[before]!;
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) isInside = !isInside;
  }
  return isInside;
}

/** West, south, east and north. */
export function boundsOf({ parts }: Shape): readonly [number, number, number, number] {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [lon = 0, lat = 0] of parts.flat(2)) {
    [west, east] = [Math.min(west, lon), Math.max(east, lon)];
    [south, north] = [Math.min(south, lat), Math.max(north, lat)];
  }
  return [west, south, east, north];
}

/** In the world's first copy: what was drawn beyond 180° is a turn away. */
export function unturned(shape: Shape): Shape {
  const [west, , east] = boundsOf(shape);
  const turn = 360 * Math.round((west + east) / 2 / 360);
  return turn === 0 ? shape : movedShape(shape, (lon, lat) => [lon - turn, lat]);
}
