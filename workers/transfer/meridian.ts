/** Geometries that jump from one side of the map to the other, where they cross the 180th meridian without being cut there. */

const halfTurn = 180;
/** Heights are told by a flag (EWKB), or by a number of its own (ISO), as GDAL writes it. */
const zFlag = 0x80000000;
const isoZ = 1000;
const [lineCode, polygonCode, pointCode] = [2, 3, 1];

/**
 * Whether a line or ring of the geometry has a step of more than 180 degrees of longitude. Steps along a parallel are none: such
 * has a box around the world, and land around a pole.
 * @param wkb little-endian, without measures, in EPSG:4326: EWKB or ISO
 */
export function jumpsAcross(wkb: Buffer): boolean {
  let at = 0;
  let found = false;
  const line = (stride: number): void => {
    const count = wkb.readUInt32LE(at);
    at += 4;
    const end = at + count * stride;
    for (let next = at + stride; next < end && !found; next += stride) {
      const before = next - stride;
      found =
        Math.abs(wkb.readDoubleLE(next) - wkb.readDoubleLE(before)) > halfTurn &&
        wkb.readDoubleLE(next + 8) !== wkb.readDoubleLE(before + 8);
    }
    at = end;
  };
  const geometry = (): void => {
    const type = wkb.readUInt32LE(at + 1);
    const number = type & 0xffff;
    const stride = type >= zFlag || number >= isoZ ? 24 : 16;
    const code = number % isoZ;
    at += 5;
    if (code === pointCode) at += stride;
    else if (code === lineCode) line(stride);
    else {
      const count = wkb.readUInt32LE(at);
      at += 4;
      for (let part = 0; part < count && !found; part++)
        if (code === polygonCode) line(stride);
        else geometry();
    }
  };
  geometry();
  return found;
}
