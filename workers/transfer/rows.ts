import { ByteSink } from "../../src/geo/byte-sink.js";
import { type GeometryKind, sridFlag } from "../../src/geo/wkb.js";
import { markOfText } from "../../src/hosts/import-messages.js";
import { FieldSet, looksLikeJson } from "./fields.js";
import { GeoJsonGeometry } from "./geojson-geometry.js";
import { Byte } from "./json.js";
import { jumpsAcross } from "./meridian.js";
import type { Transform } from "./srs.js";
import { WkbGeometry } from "./wkb-geometry.js";

const srid = 4326;
/** OID of the type int2 in pg_type. */
const smallintOid = 21;

/** Whether a string, which is short then, is another number where points stand between groups of digits. */
const isGrouped = (text: string): boolean =>
  text.length < 30 && /^\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*$/.test(text);

/**
 * Encodes features as rows of PostgreSQL's binary COPY format, see `StagingTable` for the columns. A row is begun, gets its
 * geometry and its properties in any order, and is ended. Methods throw `Refusal` for values that cannot be stored.
 */
export class RowEncoder {
  readonly fields = new FieldSet();
  readonly out = new ByteSink(1024 ** 2 + 65_536);
  /** Common kind of all geometries so far; undefined = no geometry yet. */
  kind: GeometryKind | undefined;
  vertices = 0;
  /** Geometries that cross the 180th meridian and are not cut there. */
  across = 0;
  /** Whether positions had measures (M), which layers do not store. */
  measures = false;
  /** To EPSG:4326; undefined = the coordinates are in EPSG:4326. */
  transform: Transform | undefined;
  private readonly scratch = new ByteSink(65_536);
  private readonly geojson = new GeoJsonGeometry(this.scratch);
  private readonly wkb = new WkbGeometry(this.scratch);
  private row = 0;
  private values: (string | undefined)[] = [];
  /** Whether the feature has the geometry in `scratch`, in EPSG:4326. */
  private hasGeometry = false;
  /** Indexes of the properties that are null in the feature; -1 = the geometry. */
  private readonly nulls = new Set<number>();
  /**
   * Indexes of the JSON strings that would be another value without their quotes, and marks of other strings that are another
   * number with a decimal comma.
   */
  private readonly texts = new Set<number>();

  /** @param row number of the feature in the file, from 1 */
  begin(row: number): void {
    this.row = row;
    if (this.values.length === this.fields.count) this.values.fill(undefined);
    else this.values = new Array<string | undefined>(this.fields.count).fill(undefined);
    this.hasGeometry = false;
    this.nulls.clear();
    this.texts.clear();
  }

  /** Whether the feature has the property, null included. */
  has(name: string): boolean {
    return this.fields.has(name) && this.isGiven(this.fields.index(name));
  }

  /** The staged text of a property; undefined when it is null or absent. */
  textOf(name: string): string | undefined {
    return this.fields.has(name) ? this.values[this.fields.index(name)] : undefined;
  }

  /** A property whose value is the JSON text in [start, end) of the bytes. */
  jsonProperty(name: string, bytes: Buffer, start: number, end: number): void {
    const text = this.fields.json(name, bytes, start, end);
    this.set(this.fields.index(name), text, bytes[start] === Byte.quote);
  }

  /**
   * A property with a value of a file that has types, but no JSON: that is written as text there. Numbers that a double does
   * not hold are given as text with `untyped`.
   */
  property(name: string, value: string | number | boolean | null): void {
    const index = this.fields.index(name);
    this.set(index, this.fields.value(name, value), false);
    if (typeof value === "string" && isGrouped(value)) this.texts.add(markOfText(index));
  }

  /** A property whose value is an object or an array, as JSON text. */
  json(name: string, text: string): void {
    const bytes = Buffer.from(text);
    this.jsonProperty(name, bytes, 0, bytes.length);
  }

  /**
   * A property of a file that has no types, such as CSV: its type is found from the texts of all rows.
   * @param isQuoted whether the text stands in quotation marks, in a file where numbers may stand without
   */
  untyped(name: string, text: string | null, isQuoted = false): void {
    this.set(this.fields.index(name), this.fields.untyped(name, text, isQuoted), false);
  }

  /** The geometry in [start, end), a GeoJSON object. */
  jsonGeometry(bytes: Buffer, start: number, end: number): void {
    this.scratch.length = 0;
    this.place(this.geojson.encode(bytes, start, end), this.geojson);
  }

  /** The geometry as WKB or EWKB of either byte order, x = east. */
  wkbGeometry(bytes: Buffer): void {
    this.scratch.length = 0;
    this.place(this.wkb.encode(bytes), this.wkb);
  }

  /** The feature has no geometry, as opposed to not naming it: a merge empties that of the object. */
  noGeometry(): void {
    this.nulls.add(-1);
    this.hasGeometry = false;
  }

  /** Appends the row to `out`, with one column for each property name found so far. */
  end(): void {
    const { out, values } = this;
    out.int16(4 + values.length);
    out.int32(8);
    out.uint53(this.row);
    this.writeGeometry();
    this.indexes(this.nulls);
    this.indexes(this.texts);
    for (let index = 0; index < values.length; index++) {
      const text = values[index];
      if (text === undefined) {
        out.int32(-1);
        continue;
      }
      const place = out.length;
      out.int32(0);
      out.utf8(text);
      out.patchInt32(place, out.length - place - 4);
    }
  }

  private isGiven(index: number): boolean {
    return this.values[index] !== undefined || this.nulls.has(index);
  }

  private set(index: number, text: string | undefined, isString: boolean): void {
    this.values[index] = text;
    if (text !== undefined && isString && looksLikeJson(text)) this.texts.add(index);
    else if (this.texts.size > 0) this.texts.delete(index);
    if (this.texts.size > 0) this.texts.delete(markOfText(index));
    if (text === undefined) this.nulls.add(index);
    else if (this.nulls.size > 0) this.nulls.delete(index);
  }

  private place(kind: GeometryKind, { positions, measures }: GeoJsonGeometry | WkbGeometry): void {
    if (this.transform) {
      const transformed = this.transform(this.scratch.from(0));
      this.scratch.length = 0;
      this.scratch.append(transformed);
    }
    if (kind !== "Point" && jumpsAcross(this.scratch.from(0))) this.across++;
    this.hasGeometry = true;
    this.nulls.delete(-1);
    this.kind = this.kind === undefined || this.kind === kind ? kind : "Unknown";
    this.vertices += positions;
    this.measures ||= measures;
  }

  private writeGeometry(): void {
    const { out, scratch } = this;
    if (!this.hasGeometry) {
      out.int32(-1);
      return;
    }
    out.int32(scratch.length + 4);
    out.byte(1);
    out.uint32Little((scratch.readUint32Little(1) | sridFlag) >>> 0);
    out.uint32Little(srid);
    out.appendFrom(scratch, 5);
  }

  /** Writes a smallint[], or null when the set is empty. */
  private indexes(indexes: ReadonlySet<number>): void {
    const { out } = this;
    if (indexes.size === 0) {
      out.int32(-1);
      return;
    }
    out.int32(20 + 6 * indexes.size);
    // Dimensions, flags, element type, length, lower bound.
    for (const header of [1, 0, smallintOid, indexes.size, 1]) out.int32(header);
    for (const index of indexes) {
      out.int32(2);
      out.int16(index);
    }
  }
}
