import { isTile, type TileCoord } from "../src/geo/tile.js";

/** Tiles as people who pan a map ask for them: viewports of 5 × 4 tiles near real places, zoom 4 to 11. */

/** [longitude, latitude] in degrees. */
export type Place = readonly [longitude: number, latitude: number];

/** Tile of `zoom` that a place lies in. */
function tileAt([longitude, latitude]: Place, zoom: number): TileCoord {
  const side = 2 ** zoom;
  const phi = (latitude * Math.PI) / 180;
  return {
    z: zoom,
    x: Math.floor(((longitude + 180) / 360) * side),
    y: Math.floor(((1 - Math.log(Math.tan(phi) + 1 / Math.cos(phi)) / Math.PI) / 2) * side),
  };
}

/** `count` different tiles, the same ones for the same seed. */
export function viewports(places: readonly Place[], count: number, seed: number): TileCoord[] {
  const near = places.filter(([, latitude]) => Math.abs(latitude) <= 80);
  if (near.length === 0) throw new Error("Viewports need places within 80 degrees of latitude.");
  const random = randomFrom(seed);
  const seen = new Set<string>();
  const tiles: TileCoord[] = [];
  // Few places have few tiles around them.
  for (let viewport = 0; tiles.length < count && viewport < count * 50; viewport++) {
    const zoom = 4 + Math.floor(random() * 8);
    const centre = tileAt(near[Math.floor(random() * near.length)]!, zoom);
    for (let dy = -2; dy < 2; dy++) {
      for (let dx = -2; dx < 3; dx++) {
        const tile = { z: zoom, x: centre.x + dx, y: centre.y + dy };
        const key = `${tile.z}/${tile.x}/${tile.y}`;
        if (tiles.length === count || seen.has(key) || !isTile(tile.z, tile.x, tile.y)) continue;
        seen.add(key);
        tiles.push(tile);
      }
    }
  }
  return tiles;
}

/** Numbers from 0 to 1 that only depend on the seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
