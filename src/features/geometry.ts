import { failed } from "../errors.js";
import { ByteSink } from "../geo/byte-sink.js";
import { toDegrees } from "../geo/envelope.js";
import { mercatorHalf } from "../geo/tile.js";
import {
  type GeometryKind,
  type GeometryType,
  heightFound,
  isGeometryType,
  kindOf,
  maxCollections,
  maxPositions,
  memberOf,
  WkbWriter,
} from "../geo/wkb.js";
import type { Srid } from "./geometry-sql.js";

/** Validates GeoJSON geometry of requests and encodes it as EWKB. */

export interface GeometryRules {
  /** Coordinate reference system of the positions. */
  readonly srid: Srid;
  /** Geometry kind of the layer; Unknown = any. */
  readonly kind: GeometryKind;
  /** Default: the limit of imports. */
  readonly maxPositions?: number;
}

/**
 * Encodes a GeoJSON geometry as EWKB in EPSG:4326. The third number of a position is its height and is kept; in a geometry
 * with heights a position without one gets height 0. A fourth number has no meaning (RFC 7946) and is dropped. The geometry
 * is not repaired.
 * @throws Failure invalid_geometry with the reason
 */
export function encodeGeometry(geometry: unknown, rules: GeometryRules): Buffer {
  const type = geometryType(geometry);
  if (rules.kind !== "Unknown" && kindOf(type) !== rules.kind) {
    throw invalid(`The layer holds geometry of the kind ${rules.kind}, not ${type}.`);
  }
  try {
    return new Encoder(rules, 2).encode(geometry);
  } catch (reason) {
    // Usually the first position has a height already, so that little work is repeated.
    if (reason !== heightFound) throw reason;
    return new Encoder(rules, 3).encode(geometry);
  }
}

const invalid = (reason: string) => failed("invalid_geometry", reason);

function geometryType(geometry: unknown): GeometryType {
  if (typeof geometry !== "object" || geometry === null)
    throw invalid("A geometry must be a GeoJSON object.");
  const type = "type" in geometry ? geometry.type : undefined;
  if (!isGeometryType(type)) {
    throw invalid("The type of the geometry is not a GeoJSON geometry type.");
  }
  return type;
}

class Encoder {
  private readonly wkb = new WkbWriter(new ByteSink(1024));
  private positionCount = 0;
  private readonly maxPositions: number;
  private readonly mercator: boolean;

  constructor(rules: GeometryRules, dimensions: 2 | 3) {
    this.wkb.dimensions = dimensions;
    this.maxPositions = rules.maxPositions ?? maxPositions;
    this.mercator = rules.srid === 3857;
  }

  encode(geometry: unknown): Buffer {
    this.geometry(geometry, 0);
    return this.wkb.out.from(0);
  }

  private geometry(geometry: unknown, depth: number): void {
    if (depth > maxCollections)
      throw invalid(`Geometry collections are nested more than ${maxCollections} deep.`);
    const type = geometryType(geometry);
    this.wkb.header(type, depth === 0 ? 4326 : undefined);
    if (type === "GeometryCollection") {
      const members = list(
        (geometry as { geometries?: unknown }).geometries,
        "The geometries of a collection",
      );
      this.wkb.out.uint32Little(members.length);
      for (const member of members) this.geometry(member, depth + 1);
      return;
    }
    const coordinates = (geometry as { coordinates?: unknown }).coordinates;
    const memberType = memberOf(type);
    if (!memberType) {
      this.simple(type, coordinates);
      return;
    }
    const members = list(coordinates, `The coordinates of a ${type}`);
    this.wkb.out.uint32Little(members.length);
    for (const member of members) {
      this.wkb.header(memberType);
      this.simple(memberType, member);
    }
  }

  private simple(type: GeometryType, coordinates: unknown): void {
    if (type === "Point") this.point(coordinates);
    else if (type === "LineString") {
      const positions = list(coordinates, "The coordinates of a line");
      this.positions(positions, positions.length === 0 ? 0 : 2, "A line");
    } else {
      const rings = list(coordinates, "The coordinates of a polygon");
      this.wkb.out.uint32Little(rings.length);
      for (const ring of rings) {
        const positions = list(ring, "A ring of a polygon");
        const start = this.positions(positions, 4, "A ring of a polygon");
        // Compares the encoded x and y, as they will be stored.
        if (!this.wkb.endsAt(start)) throw invalid("A ring of a polygon must end where it begins.");
      }
    }
  }

  private point(position: unknown): void {
    if (Array.isArray(position) && position.length === 0) this.wkb.emptyPoint();
    else this.position(position);
  }

  /** Writes the number of positions and the positions; returns the byte offset of the first one. */
  private positions(positions: readonly unknown[], min: number, what: string): number {
    if (positions.length < min) throw invalid(`${what} needs at least ${min} positions.`);
    this.wkb.out.uint32Little(positions.length);
    const start = this.wkb.out.length;
    for (const position of positions) this.position(position);
    return start;
  }

  private position(position: unknown): void {
    if (!Array.isArray(position) || position.length < 2 || position.length > 4) {
      throw invalid("A position must be an array of two to four numbers.");
    }
    for (const ordinate of position) {
      if (typeof ordinate !== "number" || !Number.isFinite(ordinate)) {
        throw invalid("A position has a member that is not a finite number.");
      }
    }
    let [x, y] = position as [number, number];
    if (position.length > 2 && this.wkb.dimensions === 2) throw heightFound;
    if (this.mercator) {
      if (Math.abs(x) > 2 * mercatorHalf + 1 || Math.abs(y) > 1e9) {
        throw invalid("A position lies outside the range of EPSG:3857.");
      }
      [x, y] = toDegrees(x, y);
    } else if (Math.abs(y) > 90 || Math.abs(x) > 360) {
      throw invalid("A position lies outside longitude -360 to 360 and latitude -90 to 90.");
    }
    if (++this.positionCount > this.maxPositions)
      throw invalid(`A geometry may have at most ${this.maxPositions} positions.`);
    // Adding 0 turns -0 into 0, so that a ring that starts at 0 and ends at -0 is closed.
    this.wkb.position(x + 0, y + 0, (position[2] ?? 0) + 0);
  }
}

/** A GeoJSON array. Without elements it makes an empty geometry. */
function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(`${what} must be an array.`);
  return value;
}
