import type { ByteSink } from "../../src/geo/byte-sink.js";
import {
  type GeometryKind,
  type GeometryType,
  kindOf,
  maxCollections,
  maxPositions,
  memberOf,
  typeOfCode,
  WkbWriter,
} from "../../src/geo/wkb.js";
import { badGeometry } from "./refusal.js";

/**
 * Reads WKB of any flavour (either byte order, ISO or PostGIS flags for Z and M, SRID) and writes it as GeoJSON geometry is
 * written: little-endian, with Z if it has any, without M. Counts and sizes in the input are not trusted.
 */

const zFlag = 0x80000000;
const mFlag = 0x40000000;
const sridFlag = 0x20000000;

/** Reads geometries one after the other. */
export class WkbGeometry {
  /** Of the last geometry. */
  positions = 0;
  /** Whether the last geometry had measures (M). */
  measures = false;
  private readonly wkb: WkbWriter;
  private view: DataView = new DataView(new ArrayBuffer(0));
  private at = 0;
  private little = true;
  private hasZ = false;
  private hasM = false;

  constructor(private readonly out: ByteSink) {
    this.wkb = new WkbWriter(out);
  }

  /** @throws BadFeature invalid_geometry, also for curves, triangles and solids */
  encode(bytes: Buffer): GeometryKind {
    this.positions = 0;
    this.measures = false;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    try {
      const kind = this.geometry(undefined, 0);
      if (this.at !== bytes.length) throw badGeometry("its geometry is longer than it says");
      return kind;
    } catch (error) {
      if (error instanceof RangeError) throw badGeometry("its geometry is cut off");
      throw error;
    }
  }

  /** @param member the type that a member of a multi geometry must have */
  private geometry(member: GeometryType | undefined, depth: number): GeometryKind {
    if (depth > maxCollections) throw badGeometry("geometry collections are nested too deep");
    const order = this.view.getUint8(this.at++);
    if (order > 1) throw badGeometry("its geometry has an unknown byte order");
    this.little = order === 1;
    const type = this.type(depth === 0 && member === undefined);
    if (member !== undefined && type !== member) throw badGeometry("a part of the geometry has a wrong type");
    this.wkb.header(type);
    const inner = memberOf(type);
    if (type === "Point") this.point();
    else if (type === "LineString") this.line();
    else if (type === "Polygon") this.polygon();
    else this.members(inner, depth);
    return kindOf(type);
  }

  /** Reads the type and its flags. The outermost geometry decides whether Z is written, since parts without one differ rarely. */
  private type(outermost: boolean): GeometryType {
    const word = this.uint32();
    if (word & sridFlag) this.at += 4;
    const code = word & 0x0fffffff;
    const dimensions = Math.floor(code / 1000);
    this.hasZ = (word & zFlag) !== 0 || dimensions === 1 || dimensions === 3;
    this.hasM = (word & mFlag) !== 0 || dimensions === 2 || dimensions === 3;
    this.measures ||= this.hasM;
    if (outermost) this.wkb.dimensions = this.hasZ ? 3 : 2;
    const type = typeOfCode(code % 1000);
    if (type === undefined)
      throw badGeometry("its geometry is of a kind that cannot be stored, such as a curve or a solid");
    return type;
  }

  private members(inner: GeometryType | undefined, depth: number): void {
    const count = this.count(5);
    this.out.uint32Little(count);
    for (let member = 0; member < count; member++) this.geometry(inner, depth + 1);
  }

  private point(): void {
    const x = this.double();
    const y = this.double();
    if (Number.isNaN(x) && Number.isNaN(y)) {
      this.skipHeights();
      this.wkb.emptyPoint();
    } else this.rest(x, y);
  }

  private line(): void {
    if (this.list() === 1) throw badGeometry("a line needs two positions");
  }

  private polygon(): void {
    let rings = this.count(4);
    // GDAL reads an empty polygon of FlatGeobuf as one with an empty ring.
    if (rings === 1 && this.view.getUint32(this.at, this.little) === 0) {
      this.at += 4;
      rings = 0;
    }
    this.out.uint32Little(rings);
    for (let ring = 0; ring < rings; ring++) {
      const first = this.out.length + 4;
      if (this.list() < 4) throw badGeometry("a ring of a polygon needs four positions");
      if (!this.wkb.endsAt(first)) throw badGeometry("a ring of a polygon is not closed");
    }
  }

  private list(): number {
    const count = this.count(8 * (2 + Number(this.hasZ) + Number(this.hasM)));
    this.out.uint32Little(count);
    for (let position = 0; position < count; position++) this.rest(this.double(), this.double());
    return count;
  }

  /** Writes a position of which x and y have been read. */
  private rest(x: number, y: number): void {
    const z = this.hasZ ? this.double() : 0;
    if (this.hasM) this.at += 8;
    if (!Number.isFinite(x) || !Number.isFinite(y)) throw badGeometry("a coordinate is not a finite number");
    // Formats without a way to leave a height out write NaN for it.
    this.wkb.position(x, y, Number.isFinite(z) ? z : 0);
    if (++this.positions > maxPositions)
      throw badGeometry(`the geometry has more than ${maxPositions} positions`);
  }

  private skipHeights(): void {
    this.at += 8 * (Number(this.hasZ) + Number(this.hasM));
  }

  /** A number of parts, each of at least that many bytes. */
  private count(leastBytes: number): number {
    const count = this.uint32();
    if (count * leastBytes > this.view.byteLength - this.at) throw badGeometry("its geometry is cut off");
    return count;
  }

  private uint32(): number {
    const value = this.view.getUint32(this.at, this.little);
    this.at += 4;
    return value;
  }

  private double(): number {
    const value = this.view.getFloat64(this.at, this.little);
    this.at += 8;
    return value;
  }
}
