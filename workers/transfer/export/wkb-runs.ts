import { geometryTypes } from "./flatgeobuf.js";

/** What a run of positions is of its geometry. */
export const role = { point: 0, line: 1, shell: 2, hole: 3 } as const;
export type Role = (typeof role)[keyof typeof role];

/**
 * The positions of a geometry as runs: a point, a line or a ring each, in the order of the geometry. Empty ones are left out;
 * members of collections count as the geometry's own. One object serves all geometries of a file.
 */
export class WkbRuns {
  /** Of the geometry's bytes, little-endian. */
  view: DataView = new DataView(new ArrayBuffer(0));
  /** Bytes from one position to the next: 16, or 24 with heights. */
  stride: 16 | 24 = 16;
  /** Number of runs; the arrays may be longer. */
  length = 0;
  /** Of the first position of each run in `view`. */
  readonly offsets: number[] = [];
  /** Positions of each run. */
  readonly counts: number[] = [];
  readonly roles: Role[] = [];
  /** Of all runs. */
  positions = 0;
  /** Whether the geometry is a multi one or a collection, of whatever number of members. */
  isMulti = false;
  private at = 0;

  /** @param wkb little-endian ISO WKB, 2D or with Z throughout */
  read(wkb: Buffer): void {
    this.view = new DataView(wkb.buffer, wkb.byteOffset, wkb.length);
    this.length = 0;
    this.positions = 0;
    this.at = 0;
    this.isMulti = this.view.getUint32(1, true) % 1_000 > geometryTypes.Polygon;
    this.geometry();
  }

  private geometry(): void {
    const code = this.view.getUint32(this.at + 1, true);
    this.at += 5;
    this.stride = code >= 1_000 ? 24 : 16;
    switch (code % 1_000) {
      case geometryTypes.Point:
        this.run(1, role.point);
        return;
      case geometryTypes.LineString:
        this.run(this.count(), role.line);
        return;
      case geometryTypes.Polygon: {
        const rings = this.count();
        for (let ring = 0; ring < rings; ring++) this.run(this.count(), ring === 0 ? role.shell : role.hole);
        return;
      }
      default: {
        const members = this.count();
        for (let member = 0; member < members; member++) this.geometry();
      }
    }
  }

  private count(): number {
    const count = this.view.getUint32(this.at, true);
    this.at += 4;
    return count;
  }

  private run(count: number, as: Role): void {
    const offset = this.at;
    this.at += this.stride * count;
    // The coordinates of an empty point are NaN.
    if (count === 0 || (as === role.point && Number.isNaN(this.view.getFloat64(offset, true)))) return;
    this.offsets[this.length] = offset;
    this.counts[this.length] = count;
    this.roles[this.length] = as;
    this.length++;
    this.positions += count;
  }
}

/** Whether a ring runs clockwise where y grows upwards. */
export function isClockwise({ view, stride }: WkbRuns, offset: number, count: number): boolean {
  // From the first position, which keeps the products small.
  const x0 = view.getFloat64(offset, true);
  const y0 = view.getFloat64(offset + 8, true);
  let doubledArea = 0;
  let x = 0;
  let y = 0;
  for (let index = 1, at = offset + stride; index < count; index++, at += stride) {
    const nextX = view.getFloat64(at, true) - x0;
    const nextY = view.getFloat64(at + 8, true) - y0;
    doubledArea += x * nextY - nextX * y;
    x = nextX;
    y = nextY;
  }
  return doubledArea < 0;
}
