import { ByteSink } from "../../src/geo/byte-sink.js";
import { type GeometryKind, isGeometryType, sridFlag } from "../../src/geo/wkb.js";
import { FieldSet, looksLikeJson } from "./fields.js";
import { GeometryEncoder } from "./geometry.js";
import { Byte, eachMember, parseAt } from "./json.js";
import { refused } from "./refusal.js";
import type { Transform } from "./srs.js";
import type { Span } from "./window.js";

const srid = 4326;
/** OID of the type int2 in pg_type. */
const smallintOid = 21;

/** Encodes features as rows of PostgreSQL's binary COPY format, see `StagingTable` for the columns. */
export class RowEncoder {
  readonly fields = new FieldSet();
  readonly out = new ByteSink(1024 ** 2 + 65_536);
  rows = 0;
  /** Common kind of all geometries so far; undefined = no geometry yet. */
  kind: GeometryKind | undefined;
  private readonly scratch = new ByteSink(65_536);
  private readonly encoder = new GeometryEncoder(this.scratch);
  private values: (string | undefined)[] = [];
  /** Indexes of the properties that are null in the feature; -1 = the geometry. */
  private readonly nulls = new Set<number>();
  /** Indexes of the string properties that would be another JSON value without their quotes. */
  private readonly texts = new Set<number>();

  /** @param transform to EPSG:4326; undefined = the coordinates are in EPSG:4326 */
  constructor(private readonly transform: Transform | undefined) {}

  get vertices(): number {
    return this.encoder.vertices;
  }
  /** Whether positions had measures (M), which layers do not store. */
  get measures(): boolean {
    return this.encoder.measures;
  }

  /**
   * Appends the feature to `out`, with one column for each property name found so far.
   * @throws Refusal
   */
  add({ bytes, start, end }: Span): void {
    const feature = ++this.rows;
    let type: unknown;
    let geometry: readonly [number, number] | undefined;
    let properties: readonly [number, number] | undefined;
    let id: readonly [number, number] | undefined;
    eachMember(bytes, start, end, (key, valueStart, valueEnd) => {
      if (key === "type") type = parseAt(bytes, valueStart, valueEnd);
      else if (key === "geometry") geometry = [valueStart, valueEnd];
      else if (key === "properties") properties = [valueStart, valueEnd];
      else if (key === "id") id = [valueStart, valueEnd];
      else if (key !== "coordinates" && key !== "geometries") parseAt(bytes, valueStart, valueEnd);
    });
    if (type !== "Feature") {
      if (!isGeometryType(type)) {
        throw refused(`Feature ${feature} is neither a GeoJSON feature nor a geometry.`, { feature });
      }
      geometry = [start, end];
      properties = id = undefined;
    }
    this.values = new Array<string | undefined>(this.fields.count).fill(undefined);
    this.nulls.clear();
    this.texts.clear();
    if (properties && !isNull(bytes, properties)) {
      if (bytes[properties[0]] !== Byte.openObject) {
        throw refused(`Feature ${feature}: "properties" is not an object.`, { feature });
      }
      eachMember(bytes, properties[0], properties[1], (key, valueStart, valueEnd) => {
        this.property(key, bytes, [valueStart, valueEnd]);
      });
    }
    if (id) this.featureId(bytes, id);
    if (geometry && isNull(bytes, geometry)) {
      this.nulls.add(-1);
      geometry = undefined;
    }
    this.row(bytes, geometry);
  }

  /** Stores the feature's `id` as a property, unless there is a property `id` or `svc_id` has the same value. */
  private featureId(bytes: Buffer, place: readonly [number, number]): void {
    if (this.has("id")) return;
    if (this.has("svc_id") && this.values[this.fields.index("svc_id")] === bytes.toString("utf8", ...place))
      return;
    this.property("id", bytes, place);
  }

  /** Whether the current feature has the property, null included. */
  private has(name: string): boolean {
    if (!this.fields.has(name)) return false;
    const index = this.fields.index(name);
    return this.values[index] !== undefined || this.nulls.has(index);
  }

  private property(name: string, bytes: Buffer, place: readonly [number, number]): void {
    const text = this.fields.value(name, bytes, place[0], place[1]);
    const index = this.fields.index(name);
    this.values[index] = text;
    if (text !== undefined && bytes[place[0]] === Byte.quote && looksLikeJson(text)) this.texts.add(index);
    else this.texts.delete(index);
    if (text === undefined) this.nulls.add(index);
    else this.nulls.delete(index);
  }

  private row(bytes: Buffer, geometry: readonly [number, number] | undefined): void {
    const { out, values } = this;
    out.int16(4 + values.length);
    out.int32(8);
    out.int64(this.rows);
    if (geometry) this.geometry(bytes, geometry);
    else out.int32(-1);
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

  private geometry(bytes: Buffer, place: readonly [number, number]): void {
    this.scratch.length = 0;
    const kind = this.encoder.encode(bytes, place[0], place[1], this.rows);
    this.kind = this.kind === undefined || this.kind === kind ? kind : "Unknown";
    let wkb = this.scratch.from(0);
    if (this.transform) wkb = this.transform(wkb, this.rows);
    this.out.int32(wkb.length + 4);
    this.out.byte(1);
    this.out.uint32Little((wkb.readUInt32LE(1) | sridFlag) >>> 0);
    this.out.uint32Little(srid);
    this.out.append(wkb.subarray(5));
  }
}

const isNull = (bytes: Buffer, [start, end]: readonly [number, number]): boolean =>
  end - start === 4 && bytes.toString("latin1", start, end) === "null";
