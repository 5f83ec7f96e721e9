/** Reads coordinates that somebody types or pastes. Does not depend on the DOM. */

export interface LatLon {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
}

/** Degrees, perhaps with minutes and seconds, and a letter for the side of the world before or after them. */
const number = String.raw`([+-]?\d{1,3}(?:[.]\d{1,15})?)\s*°?`;
const part = String.raw`(?:(\d{1,2}(?:[.]\d{1,15})?)\s*['′’]\s*)?(?:(\d{1,2}(?:[.]\d{1,15})?)\s*(?:"|″|”|'')\s*)?`;
const pattern = new RegExp(
  String.raw`^\s*([NS])?\s*${number}\s*${part}([NS])?\s*[,;\s]\s*([EWO])?\s*${number}\s*${part}([EWO])?\s*$`,
  "i",
);

/**
 * Latitude and longitude, as in "52.5, 13.4", "52,5; 13,4", "52.5N 13.4E" and 52°30'N 13°24'E; undefined when the text is
 * something else, or no place on earth.
 */
export function parseCoordinates(text: string): LatLon | undefined {
  // Commas within numbers are those of many languages.
  const normal = /;|\d,\d+\s+[+-]?\d+,\d/.test(text) ? text.replace(/(\d),(\d)/g, "$1.$2") : text;
  const match = normal.length <= 100 ? pattern.exec(normal) : null;
  if (!match) return undefined;
  const [
    ,
    north,
    latDegrees,
    latMinutes,
    latSeconds,
    north2,
    east,
    lonDegrees,
    lonMinutes,
    lonSeconds,
    east2,
  ] = match;
  const lat = degrees(latDegrees!, latMinutes, latSeconds, north ?? north2);
  const lon = degrees(lonDegrees!, lonMinutes, lonSeconds, east ?? east2);
  return lat !== undefined && lon !== undefined && Math.abs(lat) <= 90 && Math.abs(lon) <= 180
    ? { lat, lon }
    : undefined;
}

function degrees(whole: string, minutes = "0", seconds = "0", side: string | undefined): number | undefined {
  if (Number(minutes) >= 60 || Number(seconds) >= 60) return undefined;
  const size = Math.abs(Number(whole)) + Number(minutes) / 60 + Number(seconds) / 3600;
  const isNegative = whole.startsWith("-") !== /^[SW]$/i.test(side ?? "");
  return isNegative ? -size : size;
}
