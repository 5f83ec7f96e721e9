/** Lengths and areas on the sphere. Points are [latitude, longitude] in degrees; longitudes may lie beyond ±180. */

export type Place = readonly [lat: number, lon: number];

/** The mean radius of the Earth, in metres (IUGG). */
const radius = 6_371_008.8;

const radians = (degrees: number): number => (degrees * Math.PI) / 180;
const degrees = (angle: number): number => (angle * 180) / Math.PI;
/** The same angle within ±180 degrees. */
const turned = (lon: number): number => lon - 360 * Math.round(lon / 360);

/** The angle between two places, by the haversine formula. */
function angle([latA, lonA]: Place, [latB, lonB]: Place): number {
  const north = Math.sin(radians(latB - latA) / 2) ** 2;
  const east = Math.sin(radians(lonB - lonA) / 2) ** 2;
  return (
    2 * Math.asin(Math.min(1, Math.sqrt(north + Math.cos(radians(latA)) * Math.cos(radians(latB)) * east)))
  );
}

/** Metres along great circles from the first place to the last. */
export const lengthOf = (places: readonly Place[]): number =>
  radius * places.slice(1).reduce((sum, place, index) => sum + angle(places[index]!, place), 0);

/**
 * Square metres within the places, joined by great circles: the sum of the spherical excesses between each side and the
 * equator (Bevis and Cambareri, 1987).
 */
export function areaOf(places: readonly Place[]): number {
  let excess = 0;
  let turn = 0;
  for (const [index, a] of places.entries()) {
    const b = places[(index + 1) % places.length]!;
    const east = turned(b[1] - a[1]);
    turn += east;
    const [tanA, tanB] = [Math.tan(radians(a[0]) / 2), Math.tan(radians(b[0]) / 2)];
    excess += 2 * Math.atan2(Math.tan(radians(east) / 2) * (tanA + tanB), 1 + tanA * tanB);
  }
  // Around a pole the sum is what lies between the sides and the equator.
  const around = Math.abs(turn) > 180 ? 2 * Math.PI - Math.abs(excess) : Math.abs(excess);
  return radius ** 2 * around;
}

/** The nearest copy of a longitude. */
export const nearest = (lon: number, to: number): number => to + turned(lon - to);

/** Places on the great circle from one place to another, close enough to be drawn as a line; with both ends. */
export function greatCircle(from: Place, to: Place): Place[] {
  const whole = angle(from, to);
  const steps = Math.min(128, Math.ceil(degrees(whole) / 1.5));
  if (steps < 2 || Math.sin(whole) < 1e-9) return [from, to];
  const vector = ([lat, lon]: Place) => [
    Math.cos(radians(lat)) * Math.cos(radians(lon)),
    Math.cos(radians(lat)) * Math.sin(radians(lon)),
    Math.sin(radians(lat)),
  ];
  const [a, b] = [vector(from), vector(to)];
  const line: Place[] = [from];
  for (let step = 1; step < steps; step++) {
    const [share, rest] = [Math.sin((step / steps) * whole), Math.sin((1 - step / steps) * whole)];
    const [x, y, z] = a.map((value, axis) => (rest * value + share * b[axis]!) / Math.sin(whole));
    const lon = nearest(degrees(Math.atan2(y!, x!)), line.at(-1)![1]);
    line.push([degrees(Math.atan2(z!, Math.hypot(x!, y!))), lon]);
  }
  line.push([to[0], nearest(to[1], line.at(-1)![1])]);
  return line;
}
