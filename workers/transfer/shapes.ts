import { ByteSink } from "../../src/geo/byte-sink.js";
import { maxPositions, WkbWriter } from "../../src/geo/wkb.js";
import { badGeometry } from "./refusal.js";

/** Geometries that readers of XML put together from numbers. */

/** x, y and z of each position, one after the other; z is NaN where there is none. */
export type Positions = readonly number[];

export type Shape =
  | { readonly kind: "Point"; readonly positions: Positions }
  | { readonly kind: "LineString"; readonly positions: Positions }
  | { readonly kind: "Polygon"; readonly rings: readonly Positions[] }
  | { readonly kind: "Multi"; readonly members: readonly Shape[] };

const multi = { Point: "MultiPoint", LineString: "MultiLineString", Polygon: "MultiPolygon" } as const;

/**
 * The shape as WKB, with Z if a position has one. Members of one kind make a multi geometry, others a collection.
 * @throws BadFeature invalid_geometry for a point of several positions
 */
export function wkbOf(shape: Shape): Buffer {
  const writer = new WkbWriter(new ByteSink(1024));
  writer.dimensions = hasHeights(shape) ? 3 : 2;
  write(writer, shape);
  return writer.out.from(0);
}

function write(writer: WkbWriter, shape: Shape): void {
  if (shape.kind === "Multi") {
    const { members } = shape;
    const kinds = new Set(members.map(({ kind }) => kind));
    const [kind] = kinds;
    const isMulti = kinds.size === 1 && kind !== undefined && kind !== "Multi";
    writer.header(isMulti ? multi[kind] : "GeometryCollection");
    writer.out.uint32Little(members.length);
    for (const member of members) write(writer, member);
    return;
  }
  writer.header(shape.kind);
  if (shape.kind === "Polygon") {
    writer.out.uint32Little(shape.rings.length);
    for (const ring of shape.rings) writeList(writer, ring);
  } else if (shape.kind === "LineString") writeList(writer, shape.positions);
  else if (shape.positions.length === 0) writer.emptyPoint();
  else if (shape.positions.length === 3) writePosition(writer, shape.positions, 0);
  else throw badGeometry("a point has several positions");
}

function writeList(writer: WkbWriter, positions: Positions): void {
  writer.out.uint32Little(positions.length / 3);
  for (let at = 0; at < positions.length; at += 3) writePosition(writer, positions, at);
}

function writePosition(writer: WkbWriter, positions: Positions, at: number): void {
  const z = positions[at + 2]!;
  writer.position(positions[at]!, positions[at + 1]!, Number.isNaN(z) ? 0 : z);
}

function hasHeights(shape: Shape): boolean {
  if (shape.kind === "Multi") return shape.members.some(hasHeights);
  const lists = shape.kind === "Polygon" ? shape.rings : [shape.positions];
  return lists.some((list) => list.some((value, index) => index % 3 === 2 && !Number.isNaN(value)));
}

/** Adds a position. @throws BadFeature invalid_geometry when there are too many */
export function addPosition(positions: number[], x: number, y: number, z = Number.NaN): void {
  if (positions.length >= 3 * maxPositions)
    throw badGeometry(`the geometry has more than ${maxPositions} positions`);
  positions.push(x, y, z);
}
