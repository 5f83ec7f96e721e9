import gdal from "gdal-async";
import { valueEnd } from "../json.js";
import { badGeometry, Refusal } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import { type Transform, transformFrom } from "../srs.js";

/** Reads geometry from the cells of tables: WKT, WKB in hexadecimal digits, both also with an SRID, or GeoJSON. */

const wkt =
  /^\s*(?:SRID=(\d{1,6});)?\s*((?:MULTI)?(?:POINT|LINESTRING|POLYGON|CURVE|SURFACE)|GEOMETRYCOLLECTION|CIRCULARSTRING|COMPOUNDCURVE|CURVEPOLYGON|LINEARRING|TRIANGLE|TIN)\s*(?:Z|M|ZM)?\s*(?:\(|EMPTY)/i;
const wkbHex = /^(?:\\x)?0[01](?:[0-9a-f]{2}){4,}$/i;
const geojson = /^\s*\{[\s\S]*"(?:coordinates|geometries)"/;
const sridFlag = 0x20000000;

/** Whether a cell begins like WKT or is an object like a GeoJSON geometry. */
export const isGeometryText = (text: string): boolean => wkt.test(text) || geojson.test(text);

/** Whether a cell looks like WKB in hexadecimal digits; a long number can, too. */
export const isGeometryHex = (text: string): boolean => wkbHex.test(text.trim());

export class GeometryText {
  /** By SRID; undefined = the coordinates are in EPSG:4326. */
  private readonly transforms = new Map<number, Transform | undefined>();

  /** @param keepTransform whether the request names a spatial reference, which takes precedence over SRIDs */
  constructor(private readonly keepTransform: boolean) {}

  /** Writes the geometry of a cell, which is not blank, to the row. @throws BadFeature invalid_geometry */
  write(row: RowEncoder, text: string): void {
    const trimmed = text.trim();
    if (wkbHex.test(trimmed)) this.hex(row, trimmed);
    else if (trimmed.startsWith("{")) writeGeoJson(row, trimmed);
    else this.wkt(row, trimmed);
  }

  private wkt(row: RowEncoder, text: string): void {
    const match = wkt.exec(text);
    if (!match) throw badGeometry("the geometry is neither WKT nor WKB nor GeoJSON");
    let wkb: Buffer;
    try {
      wkb = gdal.Geometry.fromWKT(text.slice(text.indexOf(match[2]!))).toWKB("LSB", "ISO");
    } catch {
      throw badGeometry("the geometry is not valid WKT");
    }
    this.place(row, wkb, match[1] === undefined ? 0 : Number(match[1]));
  }

  private hex(row: RowEncoder, text: string): void {
    const wkb = Buffer.from(text.startsWith("\\x") ? text.slice(2) : text, "hex");
    const little = wkb[0] === 1;
    const type = little ? wkb.readUInt32LE(1) : wkb.readUInt32BE(1);
    if (type & sridFlag && wkb.length < 9) throw badGeometry("its geometry is cut off");
    const srid = type & sridFlag ? (little ? wkb.readUInt32LE(5) : wkb.readUInt32BE(5)) : 0;
    this.place(row, wkb, srid);
  }

  private place(row: RowEncoder, wkb: Buffer, srid: number): void {
    if (srid === 0 || this.keepTransform) {
      row.wkbGeometry(wkb);
      return;
    }
    const own = row.transform;
    row.transform = this.transformOf(srid);
    try {
      row.wkbGeometry(wkb);
    } finally {
      row.transform = own;
    }
  }

  private transformOf(srid: number): Transform | undefined {
    if (!this.transforms.has(srid)) {
      // More systems than these in one file are an attack on memory.
      if (this.transforms.size === 100) throw badGeometry("the file names too many spatial references");
      this.transforms.set(srid, readSrid(srid));
    }
    return this.transforms.get(srid);
  }
}

function readSrid(srid: number): Transform | undefined {
  try {
    return transformFrom(String(srid));
  } catch {
    throw badGeometry(`its geometry has the unknown SRID ${srid}`);
  }
}

function writeGeoJson(row: RowEncoder, text: string): void {
  const bytes = Buffer.from(text);
  let end = -1;
  try {
    end = valueEnd(bytes, 0, bytes.length);
    if (end === bytes.length) row.jsonGeometry(bytes, 0, end);
  } catch (error) {
    // JSON that is broken or nested too deep ends other imports; here it is the fault of one cell.
    if (error instanceof Refusal) throw badGeometry("the geometry is not valid GeoJSON");
    throw error;
  }
  if (end !== bytes.length) throw badGeometry("the geometry is not valid GeoJSON");
}
