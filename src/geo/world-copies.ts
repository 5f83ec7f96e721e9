import { type MercatorBox, mercatorHalf } from "./tile.js";

/** The world goes on beyond ±180°: what lies there is what lies a turn away. */

/** Metres of EPSG:3857 once around the world. */
const turn = 2 * mercatorHalf;

/** Metres of EPSG:3857 by which what is drawn reaches from the middle of the world, at most: symbols reach 256 pixels. */
export const farthestDrawn = 1.5 * turn;

export interface CopiedObjects {
  /** Whether objects lie beyond ±180°, by up to a turn. */
  readonly crossesAntimeridian: boolean;
}

/**
 * By how many metres of EPSG:3857 objects are moved along the x axis, so that they are wherever they are seen.
 * @param atAntimeridian whether the box in which they are seen reaches beyond ±180° (`reachesBeyond`)
 */
export function worldCopies(
  { crossesAntimeridian }: CopiedObjects,
  atAntimeridian: boolean,
): readonly number[] {
  const turns = Number(crossesAntimeridian) + Number(atAntimeridian);
  return [0, -turn, turn, -2 * turn, 2 * turn].slice(0, 1 + 2 * turns);
}

/** Whether the box reaches beyond ±180°, where objects of the other end of the world are seen. */
export const reachesBeyond = ([west, , east]: MercatorBox): boolean =>
  west < -mercatorHalf || east > mercatorHalf;
