import gdal from "gdal-async";
import { badGeometry, refused } from "./refusal.js";
import { newReference } from "./srs-objects.js";

/**
 * Spatial references from requests and files. Only EPSG numbers, and WKT or proj4 with allowed keywords, are passed to GDAL
 * and PROJ, whose parsers would otherwise open files and URLs named in the text.
 */

/** Little-endian WKB in the source's coordinates (x = east) to WKB in EPSG:4326, longitude first. */
export type Transform = (wkb: Buffer) => Buffer;

const maxLength = 10_000;
const epsg = /^(?:EPSG:{1,2}|urn:ogc:def:crs:EPSG:[\d.]*:)?(\d{1,6})$/i;
/** CRS84 is EPSG:4326 with longitude first, the axis order of GeoJSON. */
const crs84 = /^(?:urn:ogc:def:crs:OGC:[\d.]*:|OGC:)CRS84$/i;

const projectionKeys = new Set(
  (
    "proj lat_0 lat_1 lat_2 lat_ts lon_0 lon_1 lon_2 lonc alpha gamma azi k k_0 x_0 y_0 zone south ellps datum a b " +
    "rf f R towgs84 units to_meter pm no_defs no_uoff type over wktext h sweep es e"
  ).split(" "),
);
const projections = new Set(
  (
    "longlat latlong lonlat latlon utm tmerc etmerc merc webmerc lcc aea laea aeqd stere sterea ups omerc somerc cass " +
    "poly cea eqc eqearth eqdc gnom ortho geos nsper moll robin sinu krovak mod_krovak nzmg gstmerc labrd bonne " +
    "mill gall natearth natearth2 patterson vandg wintri eck4 eck6 tpeqd tcea loxim igh goode"
  ).split(" "),
);
const wktRoot =
  /^\s*(?:PROJCS|GEOGCS|COMPD_CS|PROJCRS|PROJECTEDCRS|GEOGCRS|GEOGRAPHICCRS|GEODCRS|GEODETICCRS|BOUNDCRS)\s*[[(]/;
/** WKT keywords, methods and characters that refer to grids, files or other notations; of text without white space. */
const wktRefused =
  /EXTENSION[[(]|METHOD[[(]"PROJ|PROJECTION[[(]"PROJ|PARAMETERFILE|PROJ4|NADGRIDS|GEOIDGRIDS|COORDINATEOPERATION|FITTED_CS|\/\/|@|\\/i;
/** Text whose names, in quotation marks, hold any character that can be printed, and nothing but ASCII is outside of them. */
const plain = /^(?:[\t\n\r\x20\x21\x23-\x7e]|"(?:[^"\p{Cc}\p{Cs}]|[\t\n\r])*")*$/u;

/**
 * The transform from `srs` to EPSG:4326; undefined when `srs` is EPSG:4326.
 * @throws Refusal import_failed when the text is not allowed or GDAL does not know the system
 */
export const transformFrom = (srs: string): Transform | undefined => projectionFrom(srs)?.transform;

/** A transform, and what the coordinates that it was given say of its source. */
export interface Projection {
  readonly transform: Transform;
  /** @throws Refusal import_failed when the source is projected, but all coordinates so far look like degrees */
  readonly requireMetres: () => void;
}

/** As `transformFrom`. */
export function projectionFrom(srs: string): Projection | undefined {
  if (isDegrees(srs)) return undefined;
  const source = referenceFrom(srs);
  try {
    return projection(source, new gdal.CoordinateTransformation(source, referenceFrom("4326")));
  } catch {
    throw unknown();
  }
}

/**
 * The spatial reference of that text, with x = east first.
 * @throws Refusal import_failed when the text is not allowed or GDAL does not know the system
 */
export function referenceFrom(srs: string): gdal.SpatialReference {
  const text = srs.trim();
  if (text.length > maxLength || !plain.test(text)) throw unknown();
  try {
    if (isDegrees(text))
      return newReference(() => gdal.SpatialReference.fromProj4("+proj=longlat +datum=WGS84 +no_defs"));
    const number = epsgNumber(text);
    return eastFirst(
      newReference(() => (number ? gdal.SpatialReference.fromEPSG(Number(number)) : parseSrs(text))),
    );
  } catch {
    throw unknown();
  }
}

/** The EPSG number that the text gives; undefined when it is WKT or proj4. */
export const epsgNumber = (srs: string): string | undefined =>
  crs84.test(srs.trim()) ? "4326" : epsg.exec(srs.trim())?.[1];

const isDegrees = (srs: string): boolean => Number(epsgNumber(srs)) === 4326;

/**
 * The transform from a file's own spatial reference; undefined when that is EPSG:4326.
 * @throws Refusal import_failed when it refers to other files, or cannot be transformed
 */
export function transformOf(srs: gdal.SpatialReference): Transform | undefined {
  if (isLongitudeLatitude(srs)) return undefined;
  try {
    return transformFrom(textOf(srs));
  } catch {
    throw refused("The coordinate system that the file names is not supported here. Name another by srs.");
  }
}

/** Whether it is EPSG:4326 by its definition; many files do not name the number. */
function isLongitudeLatitude(srs: gdal.SpatialReference): boolean {
  try {
    // By way of WKT, since the order of axes that a file's reader has set counts else.
    return newReference(() => gdal.SpatialReference.fromWKT(srs.toWKT())).isSame(referenceFrom("4326"));
  } catch {
    return false;
  }
}

/** The EPSG number of a file's own spatial reference, else its WKT. */
export function textOf(srs: gdal.SpatialReference): string {
  const code = srs.getAuthorityCode(null as never);
  return srs.getAuthorityName(null as never) === "EPSG" && /^\d{1,6}$/.test(code) ? code : srs.toWKT();
}

const unknown = (): Error =>
  refused("The reference system (srs) is neither an EPSG number nor WKT or proj4 that is supported here.");

function parseSrs(text: string): gdal.SpatialReference {
  if (text.startsWith("+proj=")) {
    checkProj4(text);
    return gdal.SpatialReference.fromProj4(text);
  }
  if (!wktRoot.test(text) || wktRefused.test(text.replace(/\s+/g, ""))) throw unknown();
  return gdal.SpatialReference.fromWKT(text);
}

function checkProj4(text: string): void {
  for (const word of text.split(/\s+/)) {
    const match = /^\+([A-Za-z_0-9]+)(?:=([A-Za-z0-9_.,+-]*))?$/.exec(word);
    if (!match || !projectionKeys.has(match[1]!)) throw unknown();
    if (match[1] === "proj" && !projections.has(match[2]!)) throw unknown();
  }
}

/**
 * The same system with x = east as the first axis, since files use this order whatever EPSG defines. It is the order of WKT
 * without AXIS; the AUTHORITY of a geographic system is removed too, because it would restore the order of EPSG. Greenwich is
 * known to PROJ by its English name only.
 */
function eastFirst(srs: gdal.SpatialReference): gdal.SpatialReference {
  let wkt = srs
    .toWKT()
    .replace(/,\s*AXIS\["[^"]*",\s*\w+\]/g, "")
    .replace(/PRIMEM\["[^"]*",\s*0(?=[,\]])/, 'PRIMEM["Greenwich",0');
  if (wkt.startsWith("GEOGCS")) wkt = wkt.replace(/,\s*AUTHORITY\["[^"]*",\s*"[^"]*"\]\s*\]\s*$/, "]");
  return newReference(() => gdal.SpatialReference.fromWKT(wkt));
}

type Box = Pick<gdal.Envelope, "minX" | "minY" | "maxX" | "maxY">;

const isWithin = ({ minX, minY, maxX, maxY }: Box, x: number, y: number): boolean =>
  minX >= -x && maxX <= x && minY >= -y && maxY <= y;
const isOrigin = ({ minX, minY, maxX, maxY }: Box): boolean =>
  minX === 0 && minY === 0 && maxX === 0 && maxY === 0;

function projection(
  source: gdal.SpatialReference,
  transformation: gdal.CoordinateTransformation,
): Projection {
  const isGeographic = source.isGeographic();
  let looksLikeDegrees = false;
  let hasMetres = false;
  const examine = (box: Box) => {
    if (isGeographic) {
      // A circle has 400 grads. PROJ would take such numbers for longitudes of further turns.
      if (!isWithin(box, 400, 100))
        throw badGeometry("its coordinates are no degrees: srs does not match the file");
    } else if (!isWithin(box, 180, 90)) hasMetres = true;
    else if (!isOrigin(box)) looksLikeDegrees = true;
  };
  const transform: Transform = (wkb) => {
    const geometry = gdal.Geometry.fromWKB(wkb);
    if (geometry.isEmpty()) return wkb;
    if (!hasMetres) examine(geometry.getEnvelope());
    try {
      geometry.transform(transformation);
    } catch {
      throw badGeometry("its coordinates cannot be transformed to EPSG:4326");
    }
    const box = geometry.getEnvelope();
    if (![box.minX, box.minY, box.maxX, box.maxY].every(Number.isFinite)) {
      throw badGeometry("its coordinates lie outside the area of the given projection");
    }
    return geometry.toWKB("LSB", "ISO");
  };
  const requireMetres = () => {
    if (!looksLikeDegrees || hasMetres) return;
    throw refused(
      "All coordinates of the file look like degrees (longitude and latitude), but srs is a projected system.",
      { parameter: "srs" },
    );
  };
  return { transform, requireMetres };
}
