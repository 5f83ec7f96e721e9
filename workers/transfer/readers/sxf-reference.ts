import { refused } from "../refusal.js";
import { referenceFrom } from "../srs.js";

/**
 * The reference systems that the passport of an SXF file names by its own numbers. GDAL's driver is not asked for them: it
 * frees the system with the file that it belongs to, takes the wrong hemisphere for UTM, and leaves the parameters of most
 * projections out.
 */

/** What a passport says of its reference system. */
export interface PassportReference {
  /** 0 = not given. */
  readonly epsg: number;
  readonly ellipsoid: number;
  readonly projection: number;
  /** Whether the coordinates are degrees or were radians, so that the projection is that of the paper only. */
  readonly inDegrees: boolean;
  /** The sheet in degrees. */
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
  /** Easting of the south-western corner in metres; 0 = not given. */
  readonly easting: number;
}

const ellipsoids = { krassovsky: 1, wgs84: 9, webMercatorSphere: 45 } as const;
const projections = { gaussKruger: 1, utm: 17, miller: 34, webMercator: 35 } as const;

/**
 * The reference system as `transformFrom` takes it.
 * @throws Refusal when it is not known here
 */
export function referenceOf(reference: PassportReference): string {
  const srs = reference.epsg === 0 ? byProjection(reference) : String(reference.epsg);
  if (srs === undefined || !isHorizontal(srs))
    throw refused("The reference system of the file is not known here. Name it by the parameter srs.");
  return srs;
}

function isHorizontal(srs: string): boolean {
  try {
    const system = referenceFrom(srs);
    return system.isProjected() || system.isGeographic();
  } catch {
    return false;
  }
}

function byProjection(reference: PassportReference): string | undefined {
  const { ellipsoid, projection, south, north } = reference;
  if (reference.inDegrees) return { [ellipsoids.krassovsky]: "4284", [ellipsoids.wgs84]: "4326" }[ellipsoid];
  if (ellipsoid === ellipsoids.krassovsky && projection === projections.gaussKruger)
    return gaussKruger(reference);
  if (ellipsoid === ellipsoids.wgs84 && projection === projections.utm)
    return String((south + north > 0 ? 32_600 : 32_700) + ((zoneOf(reference) + 29) % 60) + 1);
  if (ellipsoid === ellipsoids.wgs84 && projection === projections.miller)
    return "+proj=mill +datum=WGS84 +no_defs";
  if (ellipsoid === ellipsoids.webMercatorSphere && projection === projections.webMercator) return "3857";
  return undefined;
}

/** Pulkovo 1942, in a zone of 6 degrees. The corner tells whether the zone's number is in front of eastings. */
function gaussKruger(reference: PassportReference): string {
  const zone = zoneOf(reference);
  const hasNoZone = reference.easting !== 0 && Math.abs(reference.easting) < 1e6;
  // EPSG has zones 2 to 32, as 28402 to 28432, and without the number as 28462 to 28492.
  if (zone >= 2 && zone <= 32) return String((hasNoZone ? 28_460 : 28_400) + zone);
  const falseEasting = (hasNoZone ? 0 : zone * 1e6) + 500_000;
  return (
    `+proj=tmerc +lat_0=0 +lon_0=${zone * 6 - 3} +k=1 +x_0=${falseEasting} +y_0=0 +ellps=krass ` +
    "+towgs84=23.57,-140.95,-79.8,0,0.35,0.79,-0.22 +units=m +no_defs"
  );
}

/** The zone of 6 degrees in which the middle of the sheet lies: 1 from Greenwich to 6° east, up to 60. */
function zoneOf({ west, east }: PassportReference): number {
  const middle = west + Math.abs(east - west) / 2;
  return Math.floor((((middle % 360) + 360) % 360) / 6) + 1;
}
