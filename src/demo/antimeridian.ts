import type { Position } from "geojson";

/**
 * world-atlas closes polygons on the sphere: rings cross the antimeridian, or go around a pole. A flat map needs
 * them cut at ±180°. Pure.
 */

type Ring = Position[];

/**
 * Pieces of a polygon within ±180°, each a list of rings. Holes are not cut: none of the atlas's crosses.
 * @param rings longitude, latitude in degrees; steps of more than 180° are crossings
 */
export function cutAtAntimeridian(rings: readonly Ring[]): Ring[][] {
  // A pole itself is drawn as a tiny ring around it.
  const [outer, ...holes] = rings.filter((ring) => ring.some(([, lat]) => Math.abs(lat!) < 89.9));
  if (!outer) return [];
  const unrolled = unroll(outer);
  const turn = unrolled.at(-1)![0]! - unrolled[0]![0]!;
  if (Math.abs(turn) > 180) return [[aroundPole(unrolled), ...holes]];
  if (unrolled.every(([lon]) => lon! >= -180 && lon! <= 180)) return [[unrolled, ...holes]];
  return [-360, 0, 360]
    .map((shift) => unrolled.map(([lon, lat]) => [lon! + shift, lat!]))
    .map((ring) => clip(clip(ring, 180, 1), -180, -1))
    .filter(hasArea)
    .map((ring) => [ring]);
}

/** Longitudes without jumps, beyond ±180° where the ring goes on. */
function unroll(ring: Ring): Ring {
  let shift = 0;
  let before = ring[0]![0]!;
  return ring.map(([lon, lat]) => {
    if (lon! - before > 180) shift -= 360;
    else if (before - lon! > 180) shift += 360;
    before = lon!;
    return [lon! + shift, lat!];
  });
}

/** A coast around a pole becomes an area by way of the map's edge. It begins on the antimeridian. */
function aroundPole(ring: Ring): Ring {
  const pole = ring[0]![1]! < 0 ? -90 : 90;
  const [first, last] = [ring[0]!, ring.at(-1)!];
  const shift = -180 - Math.min(first[0]!, last[0]!);
  return [...ring, [last[0]!, pole], [first[0]!, pole], first].map(([lon, lat]) => [lon! + shift, lat!]);
}

/** The part of a closed ring on one side of a meridian (Sutherland and Hodgman, 1974); `side` 1 = west of it. */
function clip(ring: Ring, meridian: number, side: 1 | -1): Ring {
  const kept: Ring = [];
  const inside = ([lon]: Position): boolean => (meridian - lon!) * side >= 0;
  for (let index = 1; index < ring.length; index++) {
    const [from, to] = [ring[index - 1]!, ring[index]!];
    if (inside(from) !== inside(to)) {
      const part = (meridian - from[0]!) / (to[0]! - from[0]!);
      kept.push([meridian, from[1]! + part * (to[1]! - from[1]!)]);
    }
    if (inside(to)) kept.push(to);
  }
  const distinct = kept.filter((point, index) => {
    const next = kept[index + 1];
    return !next || next[0] !== point[0] || next[1] !== point[1];
  });
  const first = distinct[0];
  const last = distinct.at(-1);
  if (first && (first[0] !== last![0] || first[1] !== last![1])) distinct.push(first);
  return distinct;
}

const hasArea = (ring: Ring): boolean => ring.length >= 4 && ring.some(([lon]) => lon !== ring[0]![0]);
