import { ByteSink } from "../../../src/geo/byte-sink.js";
import { isClockwise, role, WkbRuns } from "./wkb-runs.js";

/**
 * Writes the main file and the index of a shapefile (ESRI Shapefile Technical Description, 1998): records of one type of shape,
 * or without a shape.
 */

/** Types of shapes by their number; with heights 10 more. */
const shapeTypes = { points: 1, lines: 3, polygons: 5, multipoints: 8 } as const;
export type ShapeKind = keyof typeof shapeTypes;

/** Of the main file and of the index. */
export const headerBytes = 100;

export class ShapeEncoder {
  /** Records of the main file, and of the index. */
  readonly shapes = new ByteSink(4 * 1024 ** 2);
  readonly index = new ByteSink(256 * 1024);
  private readonly type: number;
  private readonly runs = new WkbRuns();
  private readonly extent = new Box();
  private readonly box = new Box();
  private records = 0;
  /** Of the next record in the main file. */
  private offset = headerBytes;

  constructor(
    private readonly kind: ShapeKind,
    private readonly hasZ: boolean,
  ) {
    this.type = shapeTypes[kind] + (hasZ ? 10 : 0);
  }

  /** @param wkb of the file's kind; with heights only if the file has them. Missing heights become 0. */
  add(wkb: Buffer | null): void {
    const { shapes, runs } = this;
    const start = shapes.length;
    shapes.int32(++this.records);
    // The length, when it is known.
    shapes.int32(0);
    if (wkb) runs.read(wkb);
    if (!wkb || runs.length === 0) shapes.uint32Little(0);
    else {
      shapes.uint32Little(this.type);
      if (this.kind === "points") this.point();
      else this.positions();
    }
    const words = (shapes.length - start - 8) / 2;
    shapes.patchInt32(start + 4, words);
    this.index.int32(this.offset / 2);
    this.index.int32(words);
    this.offset += shapes.length - start;
  }

  /** The beginning of the main file, when all shapes were added. */
  mainHeader(): Buffer {
    return this.header(this.offset);
  }

  indexHeader(): Buffer {
    return this.header(headerBytes + 8 * this.records);
  }

  private header(length: number): Buffer {
    const out = new ByteSink(headerBytes);
    out.int32(9994);
    for (let unused = 0; unused < 5; unused++) out.int32(0);
    out.int32(length / 2);
    out.uint32Little(1000);
    out.uint32Little(this.type);
    const { extent } = this;
    const { west, south, east, north } = extent.isEmpty ? zeros : extent;
    out.pointLittle(west, south);
    out.pointLittle(east, north);
    const { low, high } = extent.hasZ ? extent : zeros;
    out.pointLittle(low, high);
    out.pointLittle(0, 0);
    return out.take(headerBytes);
  }

  private point(): void {
    const { shapes, runs, extent } = this;
    const [at] = runs.offsets;
    const x = runs.view.getFloat64(at!, true);
    const y = runs.view.getFloat64(at! + 8, true);
    shapes.pointLittle(x, y);
    extent.add(x, y);
    if (!this.hasZ) return;
    const z = runs.stride === 24 ? runs.view.getFloat64(at! + 16, true) : 0;
    shapes.doubleLittle(z);
    extent.addZ(z);
  }

  private positions(): void {
    const { shapes, runs, box, extent } = this;
    box.clear();
    const boxAt = shapes.length;
    for (let side = 0; side < 4; side++) shapes.doubleLittle(0);
    if (this.kind === "multipoints") shapes.uint32Little(runs.positions);
    else {
      shapes.uint32Little(runs.length);
      shapes.uint32Little(runs.positions);
      for (let run = 0, first = 0; run < runs.length; first += runs.counts[run++]!)
        shapes.uint32Little(first);
    }
    this.orderRings();
    for (let run = 0; run < runs.length; run++) this.run(run);
    shapes.patchDoubleLittle(boxAt, box.west);
    shapes.patchDoubleLittle(boxAt + 8, box.south);
    shapes.patchDoubleLittle(boxAt + 16, box.east);
    shapes.patchDoubleLittle(boxAt + 24, box.north);
    extent.add(box.west, box.south);
    extent.add(box.east, box.north);
    if (this.hasZ) this.heights();
  }

  /** Which rings are written backwards: shells run clockwise, holes the other way. */
  private readonly backwards: boolean[] = [];

  private orderRings(): void {
    const { runs, backwards } = this;
    const isPolygon = this.kind === "polygons";
    for (let run = 0; run < runs.length; run++)
      backwards[run] =
        isPolygon &&
        isClockwise(runs, runs.offsets[run]!, runs.counts[run]!) !== (runs.roles[run] === role.shell);
  }

  private run(run: number): void {
    const { shapes, runs, box } = this;
    const { view } = runs;
    const count = runs.counts[run]!;
    const { at: first, step } = this.walk(run);
    for (let index = 0, at = first; index < count; index++, at += step) {
      const x = view.getFloat64(at, true);
      const y = view.getFloat64(at + 8, true);
      shapes.pointLittle(x, y);
      box.add(x, y);
    }
  }

  /** Least and greatest height, then all of them. */
  private heights(): void {
    const { shapes, runs, extent, box } = this;
    const rangeAt = shapes.length;
    shapes.pointLittle(0, 0);
    for (let run = 0; run < runs.length; run++) {
      const count = runs.counts[run]!;
      const { at: first, step } = this.walk(run);
      for (let index = 0, at = first; index < count; index++, at += step) {
        const z = runs.stride === 24 ? runs.view.getFloat64(at + 16, true) : 0;
        shapes.doubleLittle(z);
        box.addZ(z);
      }
    }
    shapes.patchDoubleLittle(rangeAt, box.low);
    shapes.patchDoubleLittle(rangeAt + 8, box.high);
    extent.addZ(box.low);
    extent.addZ(box.high);
  }

  /** Where a run begins, and how far it is to its next position. */
  private walk(run: number): { readonly at: number; readonly step: number } {
    const { offsets, counts, stride } = this.runs;
    if (!this.backwards[run]) return { at: offsets[run]!, step: stride };
    return { at: offsets[run]! + stride * (counts[run]! - 1), step: -stride };
  }
}

const zeros = { west: 0, south: 0, east: 0, north: 0, low: 0, high: 0 } as const;

/** Least and greatest coordinates. */
class Box {
  west = 0;
  south = 0;
  east = 0;
  north = 0;
  low = 0;
  high = 0;

  constructor() {
    this.clear();
  }

  clear(): void {
    this.west = this.south = this.low = Number.POSITIVE_INFINITY;
    this.east = this.north = this.high = Number.NEGATIVE_INFINITY;
  }

  get isEmpty(): boolean {
    return this.west > this.east;
  }

  get hasZ(): boolean {
    return this.low <= this.high;
  }

  add(x: number, y: number): void {
    if (x < this.west) this.west = x;
    if (x > this.east) this.east = x;
    if (y < this.south) this.south = y;
    if (y > this.north) this.north = y;
  }

  addZ(z: number): void {
    if (z < this.low) this.low = z;
    if (z > this.high) this.high = z;
  }
}
