/** The index of tiles that a node hands to the export host: a file of records of one length, in the order of their numbers. */

export interface TileRecord {
  /** XYZ. */
  readonly z: number;
  readonly x: number;
  readonly y: number;
  /** Where the tile's bytes begin in the file of contents, and how many they are. Tiles may share them. */
  readonly offset: number;
  readonly length: number;
}

export const recordBytes = 24;

export function encodeRecords(records: readonly TileRecord[]): Buffer {
  const bytes = Buffer.alloc(records.length * recordBytes);
  records.forEach(({ z, x, y, offset, length }, index) => {
    const at = index * recordBytes;
    bytes.writeUInt32LE(z, at);
    bytes.writeUInt32LE(x, at + 4);
    bytes.writeUInt32LE(y, at + 8);
    bytes.writeUInt32LE(length, at + 12);
    bytes.writeDoubleLE(offset, at + 16);
  });
  return bytes;
}

/** The record that begins at `at`. */
export const decodeRecord = (bytes: Buffer, at: number): TileRecord => ({
  z: bytes.readUInt32LE(at),
  x: bytes.readUInt32LE(at + 4),
  y: bytes.readUInt32LE(at + 8),
  length: bytes.readUInt32LE(at + 12),
  offset: bytes.readDoubleLE(at + 16),
});
