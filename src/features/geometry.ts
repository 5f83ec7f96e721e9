import type { GeometryKind } from "../catalog/state.js";
import { failed } from "../errors.js";
import { toDegrees } from "../geo/envelope.js";
import { mercatorHalf } from "../geo/tile.js";
import type { Srid } from "./geometry-sql.js";

/** GeoJSON geometry from outside, checked before any SQL and written as EWKB. */

export interface GeometryRules {
  /** Reference system of the positions. */
  readonly srid: Srid;
  /** What the layer takes; Unknown = anything. */
  readonly kind: GeometryKind;
  /** Default 10 million. */
  readonly maxVertices?: number;
}

const maxDepth = 32;
const defaultMaxVertices = 10_000_000;

/** Type numbers of well-known binary (OGC 06-103r4). */
const wkbTypes: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  Point: 1,
  LineString: 2,
  Polygon: 3,
  MultiPoint: 4,
  MultiLineString: 5,
  MultiPolygon: 6,
  GeometryCollection: 7,
});

/** Flags of a type in PostGIS's extended well-known binary. */
const ewkb = { z: 0x80000000, srid: 0x20000000 } as const;

/**
 * A GeoJSON geometry as EWKB in EPSG:4326. Third numbers of positions are heights, which are kept; a position without one
 * among others is at height 0. Fourth numbers have no meaning (RFC 7946) and are dropped. Otherwise nothing is changed or
 * repaired.
 * @throws Failure invalid_geometry with the reason
 */
export function encodeGeometry(geometry: unknown, rules: GeometryRules): Buffer {
  const type = geometryType(geometry);
  if (rules.kind !== "Unknown" && type !== rules.kind && type !== `Multi${rules.kind}`) {
    throw invalid(`The layer holds geometry of the kind ${rules.kind}, not ${type}.`);
  }
  try {
    return new Encoder(rules, 2).encode(geometry);
  } catch (reason) {
    // Mostly the very first position has one, so that nothing was done in vain.
    if (reason !== heightFound) throw reason;
    return new Encoder(rules, 3).encode(geometry);
  }
}

/** Thrown where a position has a height and the geometry was begun without. */
const heightFound = Symbol("a height");

const invalid = (reason: string) => failed("invalid_geometry", reason);

function geometryType(geometry: unknown): string {
  if (typeof geometry !== "object" || geometry === null)
    throw invalid("A geometry must be a GeoJSON object.");
  const type = "type" in geometry ? geometry.type : undefined;
  if (typeof type !== "string" || wkbTypes[type] === undefined) {
    throw invalid("The type of the geometry is none of GeoJSON's geometry types.");
  }
  return type;
}

class Encoder {
  private buffer = Buffer.allocUnsafe(1024);
  private at = 0;
  private vertices = 0;
  private readonly maxVertices: number;
  private readonly mercator: boolean;

  constructor(
    rules: GeometryRules,
    private readonly dimensions: 2 | 3,
  ) {
    this.maxVertices = rules.maxVertices ?? defaultMaxVertices;
    this.mercator = rules.srid === 3857;
  }

  encode(geometry: unknown): Buffer {
    this.geometry(geometry, 1);
    return this.buffer.subarray(0, this.at);
  }

  private geometry(geometry: unknown, depth: number): void {
    if (depth > maxDepth) throw invalid(`Geometry collections are nested more than ${maxDepth} deep.`);
    const type = geometryType(geometry);
    const code = wkbTypes[type] ?? 0;
    this.header(code, depth === 1);
    if (code === 7) {
      const members = list(
        (geometry as { geometries?: unknown }).geometries,
        "The geometries of a collection",
      );
      this.count(members.length);
      for (const member of members) this.geometry(member, depth + 1);
      return;
    }
    const coordinates = (geometry as { coordinates?: unknown }).coordinates;
    if (code <= 3) this.simple(code, coordinates);
    else {
      const members = list(coordinates, `The coordinates of a ${type}`);
      this.count(members.length);
      for (const member of members) {
        this.header(code - 3, false);
        this.simple(code - 3, member);
      }
    }
  }

  private simple(code: number, coordinates: unknown): void {
    if (code === 1) this.position(coordinates);
    else if (code === 2) this.positions(list(coordinates, "The coordinates of a line"), 2, "A line");
    else {
      const rings = list(coordinates, "The coordinates of a polygon");
      this.count(rings.length);
      for (const ring of rings) {
        const positions = list(ring, "A ring of a polygon");
        const start = this.positions(positions, 4, "A ring of a polygon");
        // Compared as they will be stored, on the plane.
        const end = this.at - 8 * this.dimensions;
        if (this.buffer.compare(this.buffer, end, end + 16, start, start + 16) !== 0) {
          throw invalid("A ring of a polygon must end where it begins.");
        }
      }
    }
  }

  /** Writes positions with their count before them; the result is where the first one lies. */
  private positions(positions: readonly unknown[], least: number, what: string): number {
    if (positions.length < least) throw invalid(`${what} needs at least ${least} positions.`);
    this.count(positions.length);
    const start = this.at;
    for (const position of positions) this.position(position);
    return start;
  }

  private position(position: unknown): void {
    if (!Array.isArray(position) || position.length < 2 || position.length > 4) {
      throw invalid("A position must be an array of two to four numbers.");
    }
    for (const ordinate of position) {
      if (typeof ordinate !== "number" || !Number.isFinite(ordinate)) {
        throw invalid("A position holds something that is no finite number.");
      }
    }
    let [x, y] = position as [number, number];
    if (position.length > 2 && this.dimensions === 2) throw heightFound;
    if (this.mercator) {
      if (Math.abs(x) > 2 * mercatorHalf + 1 || Math.abs(y) > 1e9) {
        throw invalid("A position lies outside of what EPSG:3857 can hold.");
      }
      [x, y] = toDegrees(x, y);
    } else if (Math.abs(y) > 90 || Math.abs(x) > 360) {
      throw invalid("A position lies outside of longitude -360 to 360 and latitude -90 to 90.");
    }
    if (++this.vertices > this.maxVertices)
      throw invalid(`A geometry may have at most ${this.maxVertices} positions.`);
    this.reserve(24);
    // Zero has one sign, so that a ring that ends in -0 is closed.
    this.buffer.writeDoubleLE(x + 0, this.at);
    this.buffer.writeDoubleLE(y + 0, this.at + 8);
    if (this.dimensions === 3) this.buffer.writeDoubleLE((position[2] ?? 0) + 0, this.at + 16);
    this.at += 8 * this.dimensions;
  }

  private header(code: number, outermost: boolean): void {
    this.reserve(9);
    this.buffer[this.at] = 1;
    const flags = (outermost ? ewkb.srid : 0) + (this.dimensions === 3 ? ewkb.z : 0);
    this.buffer.writeUInt32LE(code + flags, this.at + 1);
    this.at += 5;
    if (!outermost) return;
    this.buffer.writeUInt32LE(4326, this.at);
    this.at += 4;
  }

  private count(count: number): void {
    this.reserve(4);
    this.buffer.writeUInt32LE(count, this.at);
    this.at += 4;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(this.buffer.length * 2);
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}

/** A GeoJSON array with members: an empty one would be a geometry that is nowhere. */
function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw invalid(`${what} must be an array with members.`);
  return value;
}
