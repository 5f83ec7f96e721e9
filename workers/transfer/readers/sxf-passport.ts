import { rmSync, writeFileSync } from "node:fs";
import gdal from "gdal-async";
import { refused } from "../refusal.js";
import { textOf } from "../srs.js";
import type { PieceReader } from "./sxf-file.js";

/** The passport of an SXF file: what holds for the whole sheet. */

export interface Passport {
  readonly version: 3 | 4;
  readonly records: number;
  /** Of texts whose record does not say otherwise. */
  readonly encoding: string;
  /** From the coordinates of the file, north and east, to x = east and y = north in the sheet's reference system. */
  readonly place: (north: number, east: number) => readonly [x: number, y: number];
  /** Whether coordinates in samples of the digitized sheet were converted. */
  readonly isSampled: boolean;
  /** The beginning of the file, up to the first record. */
  readonly bytes: Buffer;
}

/** Where things are in both versions. */
const layouts = {
  3: {
    header: 256,
    descriptor: 44,
    scale: 48,
    state: 78,
    corners: 94,
    base: 158,
    resolution: 212,
    count: 288,
  },
  4: {
    header: 400,
    descriptor: 52,
    scale: 60,
    state: 96,
    corners: 104,
    base: 232,
    resolution: 312,
    count: 440,
  },
} as const;

const epsgAt = 100;

const encodings = ["ibm866", "windows-1251", "koi8-r"] as const;

/** @throws Refusal for files of other versions, and for those whose coordinates have no reference system */
export function readPassport(pieces: PieceReader): Passport {
  if (!pieces.has(16)) throw refused("The file is no SXF file.");
  const head = pieces.peek(16);
  if (head.toString("latin1", 0, 4) === ".SXF")
    throw refused("The file is the text form of SXF; the binary form can be imported.");
  if (head.toString("latin1", 0, 3) !== "SXF") throw refused("The file is no SXF file.");
  const version = head.readUInt32LE(4) > 256 ? head[10] : head[9];
  if (version !== 3 && version !== 4)
    throw refused(`The file has version ${version} of SXF; versions 3 and 4 can be imported.`);
  const layout = layouts[version];
  const length = layout.header + layout.descriptor;
  if (head.readUInt32LE(4) !== layout.header || !pieces.has(length))
    throw refused("The file is damaged: its passport has a wrong length.");
  const bytes = Buffer.from(pieces.next(length));
  if (bytes.toString("latin1", layout.header, layout.header + 3) !== "DAT")
    throw refused("The file is damaged: its passport is followed by something else than data.");
  const state = bytes[layout.state]!;
  if ((state & 0b11) !== 0b11) throw refused("The file says that its data are not ready for exchange.");
  if ((state & 0b100) === 0)
    throw refused(
      "The file says that its coordinates do not fit its projection, so that their place is unknown.",
    );
  const records = bytes.readUInt32LE(layout.count);
  const encoding = (version === 4 ? encodings[bytes[layout.state + 1]!] : undefined) ?? "ibm866";
  return { version, records, encoding, bytes, ...placing(bytes, version) };
}

function placing(bytes: Buffer, version: 3 | 4): Pick<Passport, "place" | "isSampled"> {
  const { scale, state, corners, base, resolution } = layouts[version];
  // The south-western corner of the sheet in samples.
  const [north, east] =
    version === 4
      ? [bytes.readInt32LE(resolution + 4), bytes.readInt32LE(resolution + 8)]
      : [bytes.readInt16LE(resolution + 4), bytes.readInt16LE(resolution + 6)];
  const frame = bytes.subarray(resolution + 4, resolution + (version === 4 ? 36 : 20));
  const isReal = (bytes[state]! & 0b11000) !== 0 || frame.every((byte) => byte === 0);
  if (isReal) {
    const units = [bytes[base + 4], bytes[base + 5]];
    const inRadians = units.includes(version === 4 ? 64 : 130);
    const factor = inRadians ? 180 / Math.PI : 1;
    return { isSampled: false, place: (north, east) => [east * factor, north * factor] };
  }
  const metres = bytes.readUInt32LE(scale) / bytes.readUInt32LE(resolution);
  if (!Number.isFinite(metres) || metres === 0)
    throw refused(
      "The file is damaged: its coordinates are samples, but it names no scale or no resolution.",
    );
  const corner = (index: number) =>
    version === 4 ? bytes.readDoubleLE(corners + 8 * index) : bytes.readInt32LE(corners + 4 * index) / 10;
  const [y, x] = [corner(0) - north * metres, corner(1) - east * metres];
  return { isSampled: true, place: (north, east) => [x + east * metres, y + north * metres] };
}

/**
 * The reference system of the sheet, as `transformFrom` takes it. GDAL knows the numbers that the passport has for ellipsoids and projections; it is given
 * a file with this passport and one point.
 * @throws Refusal when it does not know them
 */
export function referenceOf({ bytes, version }: Passport, path: string): string {
  const point = Buffer.alloc(32 + 16);
  point.writeUInt32LE(recordMark, 0);
  point.writeUInt32LE(point.length, 4);
  point.writeUInt32LE(16, 8);
  point.set([2, 4, 4], 20);
  point.writeUInt16LE(1, 30);
  const passport = Buffer.from(bytes);
  passport.writeUInt32LE(1, layouts[version].count);
  const copy = `${path}.fgb`;
  writeFileSync(path, Buffer.concat([passport, point]), { mode: 0o600, flag: "wx" });
  try {
    const dataset = gdal.open(path, "r", "SXF");
    try {
      // The driver frees its reference system with the file, while the binding goes on using it: that of a copy is safe.
      gdal.vectorTranslate(copy, dataset, ["-f", "FlatGeobuf", "-lco", "SPATIAL_INDEX=NO"]).close();
    } finally {
      dataset.close();
    }
    const copied = gdal.open(copy, "r", "FlatGeobuf");
    try {
      const { srs } = copied.layers.get(0);
      if (srs && (srs.isProjected() || srs.isGeographic())) return corrected(textOf(srs), passport, version);
    } finally {
      copied.close();
    }
  } catch {
    // As when it has no layer.
  } finally {
    for (const file of [path, copy]) rmSync(file, { force: true });
  }
  throw refused("The reference system of the file is not known here. Name it by the parameter srs.");
}

/**
 * GDAL takes the other hemisphere for sheets in UTM, and the zone's number in front of eastings of Gauss-Kruger for granted:
 * the corners of the sheet tell.
 */
function corrected(srs: string, bytes: Buffer, version: 3 | 4): string {
  const { corners, base } = layouts[version];
  if (version === 4 && bytes.readInt32LE(epsgAt) !== 0) return srs;
  const corner = (index: number) =>
    version === 4 ? bytes.readDoubleLE(corners + 8 * index) : bytes.readInt32LE(corners + 4 * index);
  const code = Number(srs);
  if (bytes[base] === 9 && bytes[base + 2] === 17) {
    const isNorth = corner(8) + corner(12) > 0;
    return String((isNorth ? 32_600 : 32_700) + (code % 100));
  }
  const hasNoZone = corner(1) !== 0 && Math.abs(corner(1)) < 1e6 * (version === 4 ? 1 : 10);
  // EPSG has these zones without the number as 28462 to 28492.
  return code > 28_401 && code <= 28_432 && hasNoZone ? String(code + 60) : srs;
}

/** Begin of a record. */
export const recordMark = 0x7fff_7fff;
