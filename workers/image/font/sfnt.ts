/** TrueType and OpenType files as tables: reading, and writing what is kept of them. All numbers are big-endian. */

/** A font is refused. The message is a sentence for its author. */
export class FontRefusal extends Error {}

export const damaged = (table: string): FontRefusal =>
  new FontRefusal(`Its table ${table.trim()} is damaged.`);

const maxTables = 64;

/** The tables of a font by tag. @throws FontRefusal */
export function readTables(file: Buffer): Map<string, Buffer> {
  const kind = file.length < 12 ? "" : file.toString("latin1", 0, 4);
  if (kind === "ttcf") throw new FontRefusal("It is a collection of fonts.");
  if (kind === "wOFF" || kind === "wOF2") throw new FontRefusal("It is a web font: send it as TTF or OTF.");
  if (kind !== "\0\x01\0\0" && kind !== "OTTO" && kind !== "true")
    throw new FontRefusal("It is no TrueType or OpenType font.");
  const count = file.readUInt16BE(4);
  if (count === 0 || count > maxTables) throw new FontRefusal("Its list of tables is damaged.");
  const tables = new Map<string, Buffer>();
  for (let index = 0; index < count; index++) {
    const at = 12 + 16 * index;
    if (at + 16 > file.length) throw new FontRefusal("Its list of tables is damaged.");
    const tag = file.toString("latin1", at, at + 4);
    const offset = file.readUInt32BE(at + 8);
    const length = file.readUInt32BE(at + 12);
    if (tables.has(tag) || offset + length > file.length) throw damaged(tag);
    tables.set(tag, file.subarray(offset, offset + length));
  }
  return tables;
}

/** The file of the tables, with checksums. `head` is among them. */
export function writeFont(tables: ReadonlyMap<string, Buffer>): Buffer {
  const sorted = [...tables].sort(([one], [other]) => (one < other ? -1 : 1));
  const power = 2 ** Math.floor(Math.log2(sorted.length));
  const header = Buffer.alloc(12 + 16 * sorted.length);
  header.write(tables.has("CFF ") ? "OTTO" : "\0\x01\0\0", "latin1");
  header.writeUInt16BE(sorted.length, 4);
  header.writeUInt16BE(16 * power, 6);
  header.writeUInt16BE(Math.log2(power), 8);
  header.writeUInt16BE(16 * (sorted.length - power), 10);
  const parts = [header];
  let offset = header.length;
  let head = 0;
  for (const [index, [tag, table]] of sorted.entries()) {
    const padded = Buffer.alloc((table.length + 3) & ~3);
    table.copy(padded);
    if (tag === "head") {
      head = offset;
      // The checksum of the file, which is computed without itself.
      padded.writeUInt32BE(0, 8);
    }
    const at = 12 + 16 * index;
    header.write(tag, at, "latin1");
    header.writeUInt32BE(checksum(padded), at + 4);
    header.writeUInt32BE(offset, at + 8);
    header.writeUInt32BE(table.length, at + 12);
    parts.push(padded);
    offset += padded.length;
  }
  const file = Buffer.concat(parts);
  file.writeUInt32BE((0xb1b0afba - checksum(file)) >>> 0, head + 8);
  return file;
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 4) sum = (sum + bytes.readUInt32BE(at)) >>> 0;
  return sum;
}
