import gdal from "gdal-async";
import { badGeometry, refused } from "./refusal.js";

/**
 * Spatial references from outside. Only an EPSG number, or WKT or proj4 text made of known words, reaches GDAL and
 * PROJ: their parsers would otherwise open files and addresses that the text names.
 */

/** Little-endian WKB in the source's coordinates (x = east) to WKB in EPSG:4326, longitude first. */
export type Transform = (wkb: Buffer, feature: number) => Buffer;

const maxLength = 10_000;
const epsg = /^(?:EPSG:{1,2}|urn:ogc:def:crs:EPSG:[\d.]*:)?(\d{1,6})$/i;
/** CRS84 is EPSG:4326 with longitude first, which GeoJSON has anyway. */
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
/** Words by which WKT leads to grids, files or another notation. */
const wktRefused =
  /EXTENSION|PARAMETERFILE|PROJ4|NADGRIDS|GEOIDGRIDS|COORDINATEOPERATION|FITTED_CS|\/\/|@|\\/i;

/**
 * What turns coordinates of `srs` into EPSG:4326; undefined = they are that already.
 * @throws Refusal import_failed when the text is not of an allowed form or GDAL does not know the system
 */
export function transformFrom(srs: string): Transform | undefined {
  const text = srs.trim();
  if (text.length > maxLength || !/^[\x20-\x7e\r\n\t]*$/.test(text)) throw unknown();
  const number = epsg.exec(text)?.[1];
  if (crs84.test(text) || Number(number) === 4326) return undefined;
  try {
    const source = withEastFirst(number ? gdal.SpatialReference.fromEPSG(Number(number)) : described(text));
    const target = gdal.SpatialReference.fromProj4("+proj=longlat +datum=WGS84 +no_defs");
    return transformer(new gdal.CoordinateTransformation(source, target));
  } catch {
    throw unknown();
  }
}

const unknown = (): Error =>
  refused("The parameter srs is neither an EPSG number nor WKT or proj4 that is supported here.");

function described(text: string): gdal.SpatialReference {
  if (text.startsWith("+proj=")) {
    checkProj4(text);
    return gdal.SpatialReference.fromProj4(text);
  }
  if (!wktRoot.test(text) || wktRefused.test(text)) throw unknown();
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
 * The same system with x to the east: files hold coordinates in that order whatever the register says. In WKT
 * without axes that is the order, except that a geographic system's EPSG number would bring the register's back.
 */
function withEastFirst(srs: gdal.SpatialReference): gdal.SpatialReference {
  let wkt = srs.toWKT().replace(/,\s*AXIS\["[^"]*",\s*\w+\]/g, "");
  if (wkt.startsWith("GEOGCS")) wkt = wkt.replace(/,\s*AUTHORITY\["[^"]*",\s*"[^"]*"\]\s*\]\s*$/, "]");
  return gdal.SpatialReference.fromWKT(wkt);
}

function transformer(transformation: gdal.CoordinateTransformation): Transform {
  return (wkb, feature) => {
    const geometry = gdal.Geometry.fromWKB(wkb);
    if (geometry.isEmpty()) return wkb;
    try {
      geometry.transform(transformation);
    } catch {
      throw badGeometry(feature, "its coordinates cannot be transformed to EPSG:4326");
    }
    const box = geometry.getEnvelope();
    if (![box.minX, box.minY, box.maxX, box.maxY].every(Number.isFinite)) {
      throw badGeometry(feature, "its coordinates lie outside the area of the given projection");
    }
    return geometry.toWKB("LSB");
  };
}
