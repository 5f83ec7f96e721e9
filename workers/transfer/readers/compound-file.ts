import { readFileSync, statSync } from "node:fs";

/**
 * Streams of compound files ([MS-CFB]), the container of .xls. Those below 4,096 bytes lie in sectors of 64 bytes within another
 * stream. The library that GDAL reads workbooks with finds them only at its beginning.
 */

const signature = "d0cf11e0a1b11ae1";
const sectorBytes = 512;
const entryBytes = 128;
const none = 0xfffffffe;
const unused = 0xffffffff;
const inFat = 0xfffffffd;
/** A file with a small stream may hold large ones too. */
const maxBytes = 64 * 1024 ** 2;

/**
 * A compound file with nothing but the first of these streams, in sectors of its own.
 * @returns undefined when it has such sectors already, or there is none, or the file is damaged
 */
export function withLargeStream(path: string, names: readonly string[]): Buffer | undefined {
  if (statSync(path).size > maxBytes) return undefined;
  try {
    const stream = smallStream(readFileSync(path), names);
    return stream && compoundFile(names[0]!, stream);
  } catch (error) {
    // Beyond its end: GDAL tells what is wrong.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function smallStream(bytes: Buffer, names: readonly string[]): Buffer | undefined {
  if (bytes.toString("hex", 0, 8) !== signature) return undefined;
  const size = 2 ** bytes.readUInt16LE(30);
  const smallSize = 2 ** bytes.readUInt16LE(32);
  const cutoff = bytes.readUInt32LE(56);
  // The only values that there are: others would make of few bytes a list of any length.
  if ((size !== 512 && size !== 4096) || smallSize !== 64 || cutoff !== 4096) return undefined;
  const sector = (index: number): Buffer => {
    const at = (index + 1) * size;
    if (at + size > bytes.length) throw new RangeError("The file ends within a sector.");
    return bytes.subarray(at, at + size);
  };
  // Larger files list further sectors of the table elsewhere.
  const table = Buffer.concat(
    Array.from({ length: 109 }, (_, index) => bytes.readUInt32LE(76 + 4 * index))
      .filter((index) => index < inFat)
      .map(sector),
  );
  const chain = (first: number): Buffer => {
    const sectors: Buffer[] = [];
    for (let index = first; index < inFat; index = table.readUInt32LE(4 * index)) {
      if (sectors.length > bytes.length / size) throw new RangeError("The sectors go round in a circle.");
      sectors.push(sector(index));
    }
    return Buffer.concat(sectors);
  };
  const entries = entriesIn(chain(bytes.readUInt32LE(48)));
  const found = entries.find(({ name, kind }) => kind === 2 && names.includes(name));
  if (!found || found.length >= cutoff || found.length === 0) return undefined;
  const whole = chain(entries[0]!.first);
  const smallTable = chain(bytes.readUInt32LE(60));
  const parts: Buffer[] = [];
  for (
    let index = found.first;
    parts.length * smallSize < found.length;
    index = smallTable.readUInt32LE(4 * index)
  ) {
    const at = index * smallSize;
    if (at + smallSize > whole.length) throw new RangeError("The stream ends within a sector.");
    parts.push(whole.subarray(at, at + smallSize));
  }
  return Buffer.concat(parts).subarray(0, found.length);
}

interface Entry {
  readonly name: string;
  /** 2 = a stream */
  readonly kind: number;
  /** Its first sector. */
  readonly first: number;
  readonly length: number;
}

/** Of the directory; the first one is that of the stream with all small ones. */
const entriesIn = (directory: Buffer): Entry[] =>
  Array.from({ length: Math.floor(directory.length / entryBytes) }, (_, index) => {
    const entry = directory.subarray(entryBytes * index, entryBytes * (index + 1));
    const nameBytes = Math.min(64, Math.max(2, entry.readUInt16LE(64)));
    return {
      name: entry.toString("utf16le", 0, nameBytes - 2),
      kind: entry[66]!,
      first: entry.readUInt32LE(116),
      length: entry.readUInt32LE(120),
    };
  });

/** @param stream below 64 kB */
function compoundFile(name: string, stream: Buffer): Buffer {
  const sectors = Math.max(8, Math.ceil(stream.length / sectorBytes));
  const header = Buffer.alloc(sectorBytes, 0xff);
  header.fill(0, 8, 76);
  header.write(signature, "hex");
  // Versions, byte order, and sizes of sectors as exponents.
  for (const [index, value] of [0x3e, 3, 0xfffe, 9, 6].entries()) header.writeUInt16LE(value, 24 + 2 * index);
  // One sector of the table, which is the first; the directory is the second.
  header.writeUInt32LE(1, 44);
  header.writeUInt32LE(1, 48);
  header.writeUInt32LE(4096, 56);
  header.writeUInt32LE(none, 60);
  header.writeUInt32LE(none, 68);
  header.writeUInt32LE(0, 76);
  const table = Buffer.alloc(sectorBytes, 0xff);
  table.writeUInt32LE(inFat, 0);
  table.writeUInt32LE(none, 4);
  for (let index = 0; index < sectors; index++)
    table.writeUInt32LE(index === sectors - 1 ? none : index + 3, 4 * (index + 2));
  const directory = Buffer.alloc(sectorBytes);
  writeEntry(directory, 0, { name: "Root Entry", kind: 5, first: none, length: 0 }, 1);
  writeEntry(directory, 1, { name, kind: 2, first: 2, length: sectors * sectorBytes }, unused);
  const content = Buffer.alloc(sectors * sectorBytes);
  stream.copy(content);
  return Buffer.concat([header, table, directory, content]);
}

function writeEntry(
  directory: Buffer,
  index: number,
  { name, kind, first, length }: Entry,
  child: number,
): void {
  const entry = directory.subarray(entryBytes * index, entryBytes * (index + 1));
  entry.write(name, "utf16le");
  entry.writeUInt16LE(2 * name.length + 2, 64);
  entry[66] = kind;
  // Black, as a tree of one entry is.
  entry[67] = 1;
  for (const [place, value] of [unused, unused, child].entries()) entry.writeUInt32LE(value, 68 + 4 * place);
  entry.writeUInt32LE(first, 116);
  entry.writeUInt32LE(length, 120);
}
