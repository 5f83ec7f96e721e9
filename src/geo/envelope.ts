import { type MercatorBox, mercatorHalf } from "./tile.js";

/** Envelopes in the two reference systems of the contract, EPSG:4326 and EPSG:3857. */

/** West, south, east, north in EPSG:4326 degrees; west > east crosses the antimeridian. */
export interface GeoEnvelope {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** The contract's box: [lat, lon] pairs; in EPSG:3857 [y, x]. */
export interface ContractBox {
  readonly sw: readonly [number, number];
  readonly ne: readonly [number, number];
}

/** Whether two boxes intersect; touching edges count. */
function boxesIntersect(a: MercatorBox, b: MercatorBox): boolean {
  return a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
}

/** As `boxesIntersect`, in any copy of the world: x beyond its edges stands for the same place as within. */
export function boxesMeet(a: MercatorBox, b: MercatorBox): boolean {
  if (boxesIntersect(a, b)) return true;
  if (isWithinWorld(a) && isWithinWorld(b)) return false;
  if (a[1] > b[3] || b[1] > a[3]) return false;
  // Turns by which the one may be moved so that it meets the other.
  const turn = 2 * mercatorHalf;
  return Math.ceil((b[0] - a[2]) / turn) <= Math.floor((b[2] - a[0]) / turn);
}

const isWithinWorld = (box: MercatorBox): boolean => box[0] >= -mercatorHalf && box[2] <= mercatorHalf;

/** The box, expanded by `metres` on every side. */
export function growBox(box: MercatorBox, metres: number): MercatorBox {
  return [box[0] - metres, box[1] - metres, box[2] + metres, box[3] + metres];
}

/** Spherical Mercator, EPSG:3857 (the formula of EPSG method 1024). Degrees in, metres out as [x, y]. */
export function toMercator(lon: number, lat: number): [x: number, y: number] {
  const y = Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360));
  return [(lon / 180) * mercatorHalf, (y / Math.PI) * mercatorHalf];
}

/** Inverse of `toMercator`. Metres in, degrees out as [lon, lat]. */
export function toDegrees(x: number, y: number): [lon: number, lat: number] {
  const lat = (Math.atan(Math.exp((y / mercatorHalf) * Math.PI)) * 360) / Math.PI - 90;
  return [(x / mercatorHalf) * 180, lat];
}

/** The union of boxes that do not cross the antimeridian; null is the empty box. */
export function unionBoxes(boxes: readonly (ContractBox | null)[]): ContractBox | null {
  let union: ContractBox | null = null;
  for (const box of boxes) {
    if (!box || !union) {
      union ??= box;
      continue;
    }
    union = {
      sw: [Math.min(union.sw[0], box.sw[0]), Math.min(union.sw[1], box.sw[1])],
      ne: [Math.max(union.ne[0], box.ne[0]), Math.max(union.ne[1], box.ne[1])],
    };
  }
  return union;
}
