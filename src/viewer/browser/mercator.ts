/** Web Mercator, in tiles from the north-west corner of the world. */

/** Maximum latitude. */
export const maxLat = 85.0511;

/** @param tiles on a side of the world, or pixels; results are fractional */
export const columnOf = (lon: number, tiles: number): number => ((lon + 180) / 360) * tiles;

export function rowOf(lat: number, tiles: number): number {
  const angle = (Math.max(-maxLat, Math.min(maxLat, lat)) * Math.PI) / 180;
  return ((1 - Math.asinh(Math.tan(angle)) / Math.PI) / 2) * tiles;
}
