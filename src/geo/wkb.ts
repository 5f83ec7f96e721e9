import type { ByteSink } from "./byte-sink.js";
import type { GeometryKind } from "./geometry-kind.js";

/** Geometry as well-known binary (OGC 06-103r4, little-endian) with the type flags of PostGIS's EWKB. */

export type { GeometryKind };

const types = {
  Point: { code: 1, kind: "Point", member: undefined },
  LineString: { code: 2, kind: "LineString", member: undefined },
  Polygon: { code: 3, kind: "Polygon", member: undefined },
  MultiPoint: { code: 4, kind: "Point", member: "Point" },
  MultiLineString: { code: 5, kind: "LineString", member: "LineString" },
  MultiPolygon: { code: 6, kind: "Polygon", member: "Polygon" },
  GeometryCollection: { code: 7, kind: "Unknown", member: undefined },
} as const;

/** Geometry types of GeoJSON. */
export type GeometryType = keyof typeof types;

export const isGeometryType = (type: unknown): type is GeometryType =>
  typeof type === "string" && Object.hasOwn(types, type);

/** The geometry type of a WKB code; undefined for curves, triangles, solids and unknown codes. */
export const typeOfCode = (code: number): GeometryType | undefined => typesByCode.get(code);

const typesByCode: ReadonlyMap<number, GeometryType> = new Map(
  Object.entries(types).map(([type, { code }]) => [code, type as GeometryType]),
);

/** The kind of layers that hold geometry of the type. */
export const kindOf = (type: GeometryType): GeometryKind => types[type].kind;

/** The member type of a multi geometry; undefined for simple ones and collections. */
export const memberOf = (type: GeometryType): "Point" | "LineString" | "Polygon" | undefined =>
  types[type].member;

/** Bound on the positions of one geometry; with more, every later step takes minutes. */
export const maxPositions = 5_000_000;
/** Nesting depth of geometry collections. */
export const maxCollections = 16;

/** EWKB flags of a type: positions have z; the SRID follows. */
const zFlag = 0x80000000;
export const sridFlag = 0x20000000;

/** Thrown by a 2D encoder at the first z coordinate: the geometry is then encoded again with three dimensions. */
export const heightFound = Symbol("a height");

/** Writes the parts of a geometry in their order in WKB. */
export class WkbWriter {
  /** 3 = positions have z. */
  dimensions: 2 | 3 = 2;

  constructor(readonly out: ByteSink) {}

  /** @param srid only for the outermost geometry */
  header(type: GeometryType, srid?: number): void {
    const flags = (this.dimensions === 3 ? zFlag : 0) + (srid === undefined ? 0 : sridFlag);
    this.out.byte(1);
    this.out.uint32Little(types[type].code + flags);
    if (srid !== undefined) this.out.uint32Little(srid);
  }

  position(x: number, y: number, z: number): void {
    this.out.pointLittle(x, y);
    if (this.dimensions === 3) this.out.doubleLittle(z);
  }

  /** An empty point has NaN coordinates, as in PostGIS. */
  emptyPoint(): void {
    this.position(Number.NaN, Number.NaN, Number.NaN);
  }

  /** Whether the last position equals the one at offset `first`, ignoring z: whether a ring is closed. */
  endsAt(first: number): boolean {
    return this.out.samePoints(first, this.out.length - 8 * this.dimensions);
  }
}
