import { refused } from "../refusal.js";
import type { PieceReader } from "./sxf-file.js";
import type { PassportReference } from "./sxf-reference.js";

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

const units = { 3: { radians: 130, degrees: 129 }, 4: { radians: 64, degrees: 65 } } as const;

const hasUnit = (bytes: Buffer, version: 3 | 4, unit: "radians" | "degrees"): boolean => {
  const { base } = layouts[version];
  return bytes.subarray(base + 4, base + 6).includes(units[version][unit]);
};

/** Coordinates of the corners of the sheet in metres. */
const cornersOf = (bytes: Buffer, version: 3 | 4) => {
  const { corners } = layouts[version];
  return (index: number) =>
    version === 4 ? bytes.readDoubleLE(corners + 8 * index) : bytes.readInt32LE(corners + 4 * index) / 10;
};

function placing(bytes: Buffer, version: 3 | 4): Pick<Passport, "place" | "isSampled"> {
  const { scale, state, resolution } = layouts[version];
  // The south-western corner of the sheet in samples.
  const [north, east] =
    version === 4
      ? [bytes.readInt32LE(resolution + 4), bytes.readInt32LE(resolution + 8)]
      : [bytes.readInt16LE(resolution + 4), bytes.readInt16LE(resolution + 6)];
  const frame = bytes.subarray(resolution + 4, resolution + (version === 4 ? 36 : 20));
  const isReal = (bytes[state]! & 0b11000) !== 0 || frame.every((byte) => byte === 0);
  if (isReal) {
    const factor = hasUnit(bytes, version, "radians") ? 180 / Math.PI : 1;
    return { isSampled: false, place: (north, east) => [east * factor, north * factor] };
  }
  const metres = bytes.readUInt32LE(scale) / bytes.readUInt32LE(resolution);
  if (!Number.isFinite(metres) || metres === 0)
    throw refused(
      "The file is damaged: its coordinates are samples, but it names no scale or no resolution.",
    );
  const corner = cornersOf(bytes, version);
  const [y, x] = [corner(0) - north * metres, corner(1) - east * metres];
  return { isSampled: true, place: (north, east) => [x + east * metres, y + north * metres] };
}

/** What the passport says of the reference system, for `referenceOf`. */
export function passportReference({ bytes, version }: Passport): PassportReference {
  const { corners, base } = layouts[version];
  const isV4 = version === 4;
  // Behind the corners in metres are those in radians.
  const degreesAt = (index: number) => {
    const radians = isV4
      ? bytes.readDoubleLE(corners + 64 + 8 * index)
      : bytes.readInt32LE(corners + 32 + 4 * index) / 1e8;
    return (radians * 180) / Math.PI;
  };
  return {
    epsg: isV4 ? bytes.readInt32LE(epsgAt) : 0,
    ellipsoid: bytes[base]!,
    projection: bytes[base + 2]!,
    inDegrees: hasUnit(bytes, version, "radians") || hasUnit(bytes, version, "degrees"),
    // Corners go clockwise from the south-west, north before east.
    south: degreesAt(0),
    west: degreesAt(1),
    north: degreesAt(4),
    east: degreesAt(5),
    easting: cornersOf(bytes, version)(1),
  };
}

/** Begin of a record. */
export const recordMark = 0x7fff_7fff;
