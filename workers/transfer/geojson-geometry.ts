import type { ByteSink } from "../../src/geo/byte-sink.js";
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
} from "../../src/geo/wkb.js";
import { Byte, eachElement, eachMember, nameAt, skipSpace } from "./json.js";
import { badGeometry } from "./refusal.js";

/**
 * Converts GeoJSON geometry to WKB directly from the bytes of the file, without a JavaScript object per position.
 */

/** Faster than `Number()`: with mantissa < 2^53 and power <= 22 one division gives the correctly rounded double. */
const exactPowers = Array.from({ length: 23 }, (_, power) => 10 ** power);
const exactMantissa = 2 ** 53;

/** Encodes GeoJSON geometries, one after the other. */
export class GeoJsonGeometry {
  /** Of the last geometry. */
  positions = 0;
  /** Whether a position of the last geometry had more than three numbers. */
  measures = false;
  private readonly wkb: WkbWriter;
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;
  private end = 0;

  constructor(private readonly out: ByteSink) {
    this.wkb = new WkbWriter(out);
  }

  /**
   * Writes the geometry in [start, end) as WKB without SRID. In a geometry with heights a position without one gets height 0.
   * @throws BadFeature invalid_geometry
   */
  encode(bytes: Buffer, start: number, end: number): GeometryKind {
    this.positions = 0;
    this.measures = false;
    this.wkb.dimensions = 2;
    const place = this.out.length;
    try {
      return this.geometry(bytes, start, end, 0);
    } catch (reason) {
      // Usually the first position has a height already, so that little work is repeated.
      if (reason !== heightFound) throw reason;
      this.wkb.dimensions = 3;
      this.out.length = place;
      this.positions = 0;
      return this.geometry(bytes, start, end, 0);
    }
  }

  private geometry(bytes: Buffer, start: number, end: number, depth: number): GeometryKind {
    if (bytes[start] !== Byte.openObject) throw this.invalid("the geometry is not an object");
    if (depth > maxCollections) throw this.invalid("geometry collections are nested too deep");
    let type: string | undefined;
    let coordinates: readonly [number, number] | undefined;
    let geometries: readonly [number, number] | undefined;
    eachMember(bytes, start, end, (key, valueStart, valueEnd) => {
      if (key === "type") type = bytes[valueStart] === Byte.quote ? nameAt(bytes, valueStart, valueEnd) : "";
      else if (key === "coordinates") coordinates = [valueStart, valueEnd];
      else if (key === "geometries") geometries = [valueStart, valueEnd];
    });
    if (!isGeometryType(type)) throw this.invalid("the geometry has no known type");
    const place = type === "GeometryCollection" ? geometries : coordinates;
    if (!place) throw this.invalid("the geometry has no coordinates");
    this.wkb.header(type);
    if (type === "GeometryCollection") return this.collection(bytes, place, depth);
    this.bytes = bytes;
    this.at = place[0];
    this.end = place[1];
    this.body(type);
    if (skipSpace(bytes, this.at, this.end) !== this.end) throw this.invalid("the coordinates are malformed");
    return kindOf(type);
  }

  private collection(bytes: Buffer, place: readonly [number, number], depth: number): GeometryKind {
    if (bytes[place[0]] !== Byte.openArray) throw this.invalid("the geometry collection has no list");
    const count = this.count();
    let members = 0;
    eachElement(bytes, place[0], place[1], (start, end) => {
      this.geometry(bytes, start, end, depth + 1);
      members++;
    });
    this.out.patchUint32Little(count, members);
    return "Unknown";
  }

  private body(type: GeometryType): void {
    const member = memberOf(type);
    if (member) {
      this.list(() => {
        this.wkb.header(member);
        this.body(member);
      });
    } else if (type === "Point") this.point();
    else if (type === "LineString") this.line();
    else this.polygon();
  }

  /** Reserves 4 bytes for a count; returns their offset. */
  private count(): number {
    const place = this.out.length;
    this.out.uint32Little(0);
    return place;
  }

  /** Reads a JSON array and writes the number of its elements before them; returns the number. */
  private list(element: () => void): number {
    const place = this.count();
    let elements = 0;
    if (!this.isEmptyArray()) {
      do {
        element();
        elements++;
      } while (this.hasNext());
    }
    this.out.patchUint32Little(place, elements);
    return elements;
  }

  private point(): void {
    const start = this.skip();
    this.openArray();
    if (this.bytes[this.skip()] === Byte.closeArray) {
      this.at++;
      this.wkb.emptyPoint();
      return;
    }
    this.at = start;
    this.position();
  }

  private line(): void {
    if (this.list(() => this.position()) === 1) throw this.invalid("a line needs two positions");
  }

  private polygon(): void {
    this.list(() => {
      const first = this.out.length + 4;
      const positions = this.list(() => this.position());
      if (positions < 4) throw this.invalid("a ring of a polygon needs four positions");
      if (!this.wkb.endsAt(first)) throw this.invalid("a ring of a polygon is not closed");
    });
  }

  private position(): void {
    this.openArray();
    const x = this.number();
    if (this.bytes[this.skip()] !== Byte.comma) throw this.invalid("a position needs two numbers");
    this.at++;
    const y = this.number();
    let z = 0;
    for (let numbers = 2; this.hasNext(); numbers++) {
      const number = this.number();
      if (numbers > 2) this.measures = true;
      else if (this.wkb.dimensions === 2) throw heightFound;
      else z = number;
    }
    this.wkb.position(x, y, z);
    if (++this.positions > maxPositions) {
      throw this.invalid(`the geometry has more than ${maxPositions} positions`);
    }
  }

  private skip(): number {
    this.at = skipSpace(this.bytes, this.at, this.end);
    return this.at;
  }

  private openArray(): void {
    if (this.bytes[this.skip()] !== Byte.openArray) throw this.invalid("the coordinates are nested wrongly");
    this.at++;
  }

  /** Consumes `[`, and `]` when the array is empty. @returns whether it is empty */
  private isEmptyArray(): boolean {
    this.openArray();
    if (this.bytes[this.skip()] !== Byte.closeArray) return false;
    this.at++;
    return true;
  }

  /** Consumes `,` (returns true) or `]` (returns false). */
  private hasNext(): boolean {
    const byte = this.bytes[this.skip()];
    this.at++;
    if (byte === Byte.comma) return true;
    if (byte === Byte.closeArray) return false;
    throw this.invalid("the coordinates are malformed");
  }

  private number(): number {
    const { bytes } = this;
    const start = this.skip();
    let at = start;
    const negative = bytes[at] === Byte.minus;
    if (negative) at++;
    let mantissa = 0;
    let power = 0;
    const integer = at;
    for (let digit = bytes[at]! - Byte.zero; digit >= 0 && digit <= 9; digit = bytes[++at]! - Byte.zero) {
      mantissa = mantissa * 10 + digit;
    }
    let wellFormed = at > integer && (at === integer + 1 || bytes[integer] !== Byte.zero);
    if (bytes[at] === 0x2e) {
      const fraction = ++at;
      for (let digit = bytes[at]! - Byte.zero; digit >= 0 && digit <= 9; digit = bytes[++at]! - Byte.zero) {
        mantissa = mantissa * 10 + digit;
      }
      power = fraction - at;
      wellFormed &&= at > fraction;
    }
    const exponent = at;
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at++;
      if (bytes[at] === Byte.minus || bytes[at] === 0x2b) at++;
      const digits = at;
      while (bytes[at]! >= Byte.zero && bytes[at]! <= Byte.nine) at++;
      wellFormed &&= at > digits;
    }
    if (!wellFormed || at > this.end) throw this.invalid("a coordinate is not a number");
    this.at = at;
    if (at === exponent && mantissa < exactMantissa && power >= -22) {
      const value = mantissa / exactPowers[-power]!;
      return negative ? -value : value;
    }
    const value = Number(bytes.toString("latin1", start, at));
    if (!Number.isFinite(value)) throw this.invalid("a coordinate is not a finite number");
    return value;
  }

  private invalid(reason: string): Error {
    return badGeometry(reason);
  }
}
