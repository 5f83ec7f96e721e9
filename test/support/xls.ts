/** Workbooks of Excel 97 ([MS-XLS]) whose stream lies in the small sectors of the compound file ([MS-CFB]). */

const sector = 512;
const smallSector = 64;
const end = 0xfffffffe;

/** Small sectors of another stream, which comes first. */
const before = 3;

/** A workbook of one sheet with texts and numbers. Its small sectors begin in sector 3, their table is sector 2. */
export function smallWorkbook(rows: readonly (readonly (string | number)[])[]): Buffer {
  const stream = workbookStream(rows);
  if (stream.length >= 4096) throw new Error("The workbook is not small.");
  const parts = before + Math.ceil(stream.length / smallSector);
  const sectors = Math.ceil((parts * smallSector) / sector);
  const header = Buffer.alloc(sector, 0xff);
  header.fill(0, 8, 76);
  header.write("d0cf11e0a1b11ae1", "hex");
  for (const [index, value] of [0x3e, 3, 0xfffe, 9, 6].entries()) header.writeUInt16LE(value, 24 + 2 * index);
  for (const [at, value] of [
    [44, 1],
    [48, 1],
    [56, 4096],
    [60, 2],
    [64, 1],
    [68, end],
    [76, 0],
  ] as const)
    header.writeUInt32LE(value, at);
  const table = Buffer.alloc(sector, 0xff);
  for (const [index, value] of [0xfffffffd, end, end].entries()) table.writeUInt32LE(value, 4 * index);
  for (let index = 0; index < sectors; index++)
    table.writeUInt32LE(index === sectors - 1 ? end : index + 4, 4 * (index + 3));
  const directory = Buffer.alloc(sector);
  entry(directory, 0, { name: "Root Entry", kind: 5, first: 3, length: parts * smallSector, child: 1 });
  entry(directory, 1, { name: "Workbook", kind: 2, first: before, length: stream.length, child: 0xffffffff });
  const smallTable = Buffer.alloc(sector, 0xff);
  for (let index = 0; index < parts; index++)
    smallTable.writeUInt32LE([before, parts].includes(index + 1) ? end : index + 1, 4 * index);
  const content = Buffer.alloc(sectors * sector);
  stream.copy(content, before * smallSector);
  return Buffer.concat([header, table, directory, smallTable, content]);
}

function entry(
  directory: Buffer,
  index: number,
  {
    name,
    kind,
    first,
    length,
    child,
  }: { name: string; kind: number; first: number; length: number; child: number },
): void {
  const at = 128 * index;
  directory.write(name, at, "utf16le");
  directory.writeUInt16LE(2 * name.length + 2, at + 64);
  directory[at + 66] = kind;
  directory[at + 67] = 1;
  for (const [place, value] of [0xffffffff, 0xffffffff, child].entries())
    directory.writeUInt32LE(value, at + 68 + 4 * place);
  directory.writeUInt32LE(first, at + 116);
  directory.writeUInt32LE(length, at + 120);
}

function record(type: number, content: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(type, 0);
  head.writeUInt16LE(content.length, 2);
  return Buffer.concat([head, content]);
}

const shorts = (...values: readonly number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer);

/** A text in UTF-16 after its length, in one byte or two. */
const unicode = (text: string, lengthBytes: 1 | 2): Buffer =>
  Buffer.concat([
    lengthBytes === 1 ? Buffer.from([text.length]) : shorts(text.length),
    Buffer.from([1]),
    Buffer.from(text, "utf16le"),
  ]);

function workbookStream(rows: readonly (readonly (string | number)[])[]): Buffer {
  const texts = [...new Set(rows.flat().filter((value) => typeof value === "string"))];
  const begin = (kind: number) => record(0x0809, shorts(0x0600, kind, 0x0dbb, 0x07cc, 0, 0, 6, 0));
  const eof = record(0x000a, Buffer.alloc(0));
  const counts = Buffer.alloc(8);
  counts.writeUInt32LE(texts.length, 0);
  counts.writeUInt32LE(texts.length, 4);
  const strings = record(0x00fc, Buffer.concat([counts, ...texts.map((text) => unicode(text, 2))]));
  const codePage = record(0x0042, shorts(1200));
  const sheetName = unicode("sheet", 1);
  const globals = [begin(5), codePage];
  const lengthOf = (parts: readonly Buffer[]) => Buffer.concat(parts).length;
  const place = Buffer.alloc(6);
  place.writeUInt32LE(
    lengthOf(globals) + 4 + place.length + sheetName.length + strings.length + eof.length,
    0,
  );
  const boundSheet = record(0x0085, Buffer.concat([place, sheetName]));
  const size = Buffer.alloc(14);
  size.writeUInt32LE(rows.length, 4);
  size.writeUInt16LE(rows[0]!.length, 10);
  const cells = rows.flatMap((row, y) =>
    row.map((value, x) => {
      const number = Buffer.alloc(8);
      if (typeof value === "number") {
        number.writeDoubleLE(value);
        return record(0x0203, Buffer.concat([shorts(y, x, 15), number]));
      }
      const index = Buffer.alloc(4);
      index.writeUInt32LE(texts.indexOf(value));
      return record(0x00fd, Buffer.concat([shorts(y, x, 15), index]));
    }),
  );
  return Buffer.concat([
    ...globals,
    boundSheet,
    strings,
    eof,
    begin(0x10),
    record(0x0200, size),
    ...cells,
    eof,
  ]);
}
