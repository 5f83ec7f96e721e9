import { badGeometry } from "../refusal.js";
import { addPosition, type Positions } from "../shapes.js";

/** Reads coordinates as KML files have them. */

const number = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;

/**
 * Positions `lon,lat[,altitude]`, separated by white space. White space beside a comma, and a comma at the end, are tolerated.
 * @throws BadFeature invalid_geometry
 */
export function readCoordinates(text: string): Positions {
  const positions: number[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const values: number[] = [];
    for (;;) {
      number.lastIndex = at;
      const found = number.exec(text)?.[0];
      if (found === undefined) throw badGeometry(`its coordinates are malformed near ${near(text, at)}`);
      values.push(Number(found));
      at = skipSpace(text, at + found.length);
      if (text[at] !== ",") break;
      at = skipSpace(text, at + 1);
      if (at === text.length) break;
    }
    const [x, y, z] = values;
    if (y === undefined || values.length > 3)
      throw badGeometry(`a position has ${values.length} numbers near ${near(text, at - 1)}`);
    addPosition(positions, x!, y, z);
  }
  return positions;
}

/** A position of a track: `lon lat [altitude]`. @throws BadFeature invalid_geometry */
export function addTrackPosition(positions: number[], text: string): void {
  const values = text.trim().split(/\s+/).map(Number);
  if (values.length < 2 || values.length > 3 || !values.every(Number.isFinite))
    throw badGeometry(`its coordinates are malformed near ${near(text, 0)}`);
  addPosition(positions, values[0]!, values[1]!, values[2]);
}

/** The ring with its first position at the end. */
export function closed(ring: Positions): { readonly ring: Positions; readonly wasOpen: boolean } {
  const last = ring.length - 3;
  const wasOpen = last > 0 && (ring[0] !== ring[last] || ring[1] !== ring[last + 1]);
  return { ring: wasOpen ? [...ring, ...ring.slice(0, 3)] : ring, wasOpen };
}

function skipSpace(text: string, at: number): number {
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code > 0x20 && code !== 0xa0) break;
    at++;
  }
  return at;
}

const near = (text: string, at: number): string => JSON.stringify(text.slice(Math.max(0, at), at + 24));
