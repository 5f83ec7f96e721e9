import type { ByteSink } from "./byte-sink.js";

/** Geometry as well-known binary (OGC 06-103r4, little-endian), with the flags that PostGIS and GDAL add to its types. */

/** What the geometry of a layer is; Unknown = any. */
export type GeometryKind = "Point" | "LineString" | "Polygon" | "Unknown";

const types = {
  Point: { code: 1, kind: "Point", member: undefined },
  LineString: { code: 2, kind: "LineString", member: undefined },
  Polygon: { code: 3, kind: "Polygon", member: undefined },
  MultiPoint: { code: 4, kind: "Point", member: "Point" },
  MultiLineString: { code: 5, kind: "LineString", member: "LineString" },
  MultiPolygon: { code: 6, kind: "Polygon", member: "Polygon" },
  GeometryCollection: { code: 7, kind: "Unknown", member: undefined },
} as const;

/** GeoJSON's types of geometry. */
export type GeometryType = keyof typeof types;

export const isGeometryType = (type: unknown): type is GeometryType =>
  typeof type === "string" && Object.hasOwn(types, type);

/** The kind of layer that takes it. */
export const kindOf = (type: GeometryType): GeometryKind => types[type].kind;

/** What a multiple geometry is made of; undefined for simple ones and collections. */
export const memberOf = (type: GeometryType): "Point" | "LineString" | "Polygon" | undefined =>
  types[type].member;

/** Positions of one geometry; more would keep every later step busy for minutes. */
export const maxPositions = 5_000_000;
/** Geometry collections within each other. */
export const maxCollections = 16;

/** Flags of a type: its positions have heights; the number of its reference system follows. */
const zFlag = 0x80000000;
export const sridFlag = 0x20000000;

/** Thrown by an encoder that meets a height after it began without: it begins anew with three dimensions. */
export const heightFound = Symbol("a height");

/** Writes the parts of a geometry one after the other. */
export class WkbWriter {
  /** 3 = positions have heights. */
  dimensions: 2 | 3 = 2;

  constructor(readonly out: ByteSink) {}

  /** @param srid of the geometry as a whole; its parts have none */
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

  /** The empty point, as PostGIS writes it. */
  emptyPoint(): void {
    this.position(Number.NaN, Number.NaN, Number.NaN);
  }

  /** Whether the position that was written last is the one that begins at `first`, heights aside. */
  endsAt(first: number): boolean {
    return this.out.samePoints(first, this.out.length - 8 * this.dimensions);
  }
}
