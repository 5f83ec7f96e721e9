import { ByteSink } from "../../../src/geo/byte-sink.js";
import { maxCollections } from "../../../src/geo/wkb.js";
import { type FlatBufferTables, UnsoundMessage } from "./flatbuffer-tables.js";
import type { FlatGeobufHeader } from "./flatgeobuf-header.js";

/** Geometry of FlatGeobuf as WKB. The numbers of fields in the table `Geometry` are those of feature.fbs. */

const [endsField, xyField, zField, mField, typeField, partsField] = [0, 1, 2, 3, 6, 7];
const [point, line, polygon, multiPoint, multiLine, multiPolygon, collection] = [1, 2, 3, 4, 5, 6, 7];
/** What ISO adds to the codes of types whose positions have Z, and M. */
const [withZ, withM] = [1000, 2000];

export class FlatGeobufGeometry {
  private readonly out = new ByteSink(65_536);
  private view: DataView = new DataView(new ArrayBuffer(0));
  /** Places of the numbers of the positions in the geometry or part; 0 = it has none. */
  private xy = 0;
  private z = 0;
  private m = 0;
  private readonly dimensions: number;

  constructor(
    private readonly header: Pick<FlatGeobufHeader, "geometryType" | "hasZ" | "hasM">,
    private readonly tables: FlatBufferTables,
  ) {
    this.dimensions = (header.hasZ ? withZ : 0) + (header.hasM ? withM : 0);
  }

  /**
   * @param table of the geometry, in the message that the tables have entered
   * @returns the geometry as ISO WKB, valid until the next one; @throws UnsoundMessage, also for curves and solids
   */
  encode(view: DataView, table: number): Buffer {
    this.view = view;
    this.out.length = 0;
    this.geometry(table, this.header.geometryType, 0);
    return this.out.from(0);
  }

  /** @param type 0 = that of the table */
  private geometry(table: number, type: number, depth: number): void {
    if (depth > maxCollections) throw new UnsoundMessage();
    const own = this.tables.uint8(table, typeField, 0);
    if (type === 0) this.write(table, own, depth);
    else if (own === 0 || own === type) this.write(table, type, depth);
    else throw new UnsoundMessage();
  }

  private write(table: number, type: number, depth: number): void {
    const { out } = this;
    this.type(type);
    if (type === multiPolygon || type === collection) {
      const parts = this.tables.vector(table, partsField, 4);
      const { count } = this.tables;
      out.uint32Little(count);
      for (let part = 0; part < count; part++)
        this.geometry(this.tables.target(parts + 4 * part), type === multiPolygon ? polygon : 0, depth + 1);
      return;
    }
    const count = this.enterPositions(table);
    switch (type) {
      case point:
        if (count !== 1) throw new UnsoundMessage();
        this.positions(0, 1);
        break;
      case line:
        out.uint32Little(count);
        this.positions(0, count);
        break;
      case multiPoint:
        out.uint32Little(count);
        for (let index = 0; index < count; index++) {
          this.type(point);
          this.positions(index, index + 1);
        }
        break;
      case polygon:
      case multiLine:
        this.runs(table, type, count);
        break;
      default:
        throw new UnsoundMessage();
    }
  }

  /** The rings of a polygon, or the lines of a geometry of several. */
  private runs(table: number, type: number, count: number): void {
    const { out } = this;
    const ends = this.tables.vector(table, endsField, 4);
    const runs = this.tables.count;
    const write = (from: number, to: number) => {
      if (type === multiLine) this.type(line);
      out.uint32Little(to - from);
      this.positions(from, to);
    };
    if (runs === 0) {
      out.uint32Little(count === 0 ? 0 : 1);
      if (count > 0) write(0, count);
      return;
    }
    out.uint32Little(runs);
    let from = 0;
    for (let run = 0; run < runs; run++) {
      const to = this.view.getUint32(ends + 4 * run, true);
      if (to < from || to > count) throw new UnsoundMessage();
      write(from, to);
      from = to;
    }
    if (from !== count) throw new UnsoundMessage();
  }

  private type(type: number): void {
    // A sound message takes about as much. Parts that share their positions would multiply them.
    if (this.out.length > 4 * this.view.byteLength + 1024) throw new UnsoundMessage();
    this.out.byte(1);
    this.out.uint32Little(type + this.dimensions);
  }

  /** Finds the positions of a table; returns their number. */
  private enterPositions(table: number): number {
    const { tables } = this;
    this.xy = tables.vector(table, xyField, 8);
    const numbers = tables.count;
    if (numbers % 2 !== 0) throw new UnsoundMessage();
    const count = numbers / 2;
    if (this.header.hasZ) {
      this.z = tables.vector(table, zField, 8);
      if (tables.count !== count) throw new UnsoundMessage();
    }
    if (this.header.hasM) {
      this.m = tables.vector(table, mField, 8);
      if (tables.count !== count) throw new UnsoundMessage();
    }
    return count;
  }

  private positions(from: number, to: number): void {
    const { out, view, xy } = this;
    const { hasZ, hasM } = this.header;
    for (let index = from; index < to; index++) {
      const at = xy + 16 * index;
      out.pointLittle(view.getFloat64(at, true), view.getFloat64(at + 8, true));
      if (hasZ) out.doubleLittle(view.getFloat64(this.z + 8 * index, true));
      if (hasM) out.doubleLittle(view.getFloat64(this.m + 8 * index, true));
    }
  }
}
