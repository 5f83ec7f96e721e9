import { isTile, type TileCoord } from "../src/geo/tile.js";

/** Tiles as people who pan a map ask for them: viewports of 5 × 4 tiles near real places, zoom 4 to 11. */

/** [longitude, latitude] in degrees. */
export type Place = readonly [longitude: number, latitude: number];

/** A point of the world: from its left edge, and from its upper one, to the others 0 to 1. */
export type Point = readonly [x: number, y: number];

export function pointOf([longitude, latitude]: Place): Point {
  const phi = (latitude * Math.PI) / 180;
  return [(longitude + 180) / 360, (1 - Math.log(Math.tan(phi) + 1 / Math.cos(phi)) / Math.PI) / 2];
}

/** Tiles a side of a viewport. */
export const viewport = { width: 5, height: 4 } as const;

/** The tiles of the viewport around a point, row by row; outside of the world there are none. */
export function tilesAround([x, y]: Point, zoom: number): TileCoord[] {
  const left = Math.floor(x * 2 ** zoom) - 2;
  const top = Math.floor(y * 2 ** zoom) - 2;
  return Array.from({ length: viewport.width * viewport.height }, (_, index) => ({
    z: zoom,
    x: left + (index % viewport.width),
    y: top + Math.floor(index / viewport.width),
  })).filter((tile) => isTile(tile.z, tile.x, tile.y));
}

export const placesToSee = (places: readonly Place[]): Place[] => {
  const near = places.filter(([, latitude]) => Math.abs(latitude) <= 80);
  if (near.length === 0) throw new Error("Viewports need places within 80 degrees of latitude.");
  return near;
};

/** `count` different tiles, the same ones for the same seed. */
export function viewports(places: readonly Place[], count: number, seed: number): TileCoord[] {
  const near = placesToSee(places);
  const random = randomFrom(seed);
  const seen = new Set<string>();
  const tiles: TileCoord[] = [];
  // Few places have few tiles around them.
  for (let view = 0; tiles.length < count && view < count * 50; view++) {
    const zoom = 4 + Math.floor(random() * 8);
    const centre = pointOf(near[Math.floor(random() * near.length)]!);
    for (const tile of tilesAround(centre, zoom)) {
      const key = `${tile.z}/${tile.x}/${tile.y}`;
      if (tiles.length === count || seen.has(key)) continue;
      seen.add(key);
      tiles.push(tile);
    }
  }
  return tiles;
}

/** Numbers from 0 to 1 that only depend on the seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
