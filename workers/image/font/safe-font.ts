import { createHash } from "node:crypto";
import { writeCff } from "./cff.js";
import { faceNames, nameTable } from "./names.js";
import { outlines } from "./outlines.js";
import { damaged, FontRefusal, readTables, writeFont } from "./sfnt.js";
import { writtenAnew } from "./subset.js";

/**
 * Writes fonts anew for a renderer that trusts them: outlines, sizes, characters, and the rules of scripts. Programs for
 * hinting, pictures and all other tables are left out.
 *
 * HarfBuzz writes the tables and draws the outlines. Ours is what it has no bounds for: alone, it takes glyphs as large as a
 * page, and needs 15 seconds for a font of 1.2 MB that tells all characters 100,000 times.
 */

export interface SafeFont {
  readonly content: Buffer;
  readonly format: "ttf" | "otf";
  /** Names that styles have for the face. */
  readonly names: readonly string[];
  /** Hash of all but the names. The face in `content` is named `<digest> Regular`, as no other font is. */
  readonly digest: string;
}

const needed = ["cmap", "head", "hhea", "hmtx", "maxp"];
/** Of scripts: which glyphs are joined, replaced and moved. HarfBuzz checks them each time that it uses them. */
const layout = ["GDEF", "GPOS", "GSUB"];

/** @throws FontRefusal */
export function safeFont(file: Buffer): SafeFont {
  try {
    return rewrite(readTables(file));
  } catch (error) {
    if (error instanceof RangeError) throw new FontRefusal("One of its tables ends early.");
    // WebAssembly's, which Node's types lack.
    if (error instanceof Error && error.name === "RuntimeError") throw new FontRefusal("It is damaged.");
    throw error;
  }
}

type Tables = ReadonlyMap<string, Buffer>;

function rewrite(tables: Tables): SafeFont {
  const isTrueType = tables.has("glyf");
  if (!isTrueType && !tables.has("CFF "))
    throw new FontRefusal("It has no outlines: fonts of bitmaps are not drawn.");
  const drawn = isTrueType ? ["glyf", "loca"] : ["CFF "];
  for (const tag of ["name", ...needed, ...drawn])
    if (!tables.has(tag)) throw new FontRefusal(`It has no table ${tag.trim()}.`);
  const names = faceNames(some(tables, ["head", "name"]));
  const glyphs = checkSizes(tables);
  checkCharacters(tables.get("cmap")!);
  const rewritten = [...needed, "OS/2", ...(isTrueType ? drawn : [])];
  const written = writtenAnew(some(tables, rewritten));
  const found = readTables(written);
  const made = new Map<string, Buffer>();
  for (const tag of [...rewritten, ...layout]) {
    const table = (layout.includes(tag) ? tables : found).get(tag);
    if (table) made.set(tag, table);
    else if (tables.has(tag)) throw damaged(tag);
  }
  if (isTrueType) {
    checkGlyphs(tables, made, glyphs);
    // All are drawn once, to see that they are within the bounds.
    for (const _ of outlines(written, glyphs, "glyf"));
  } else made.set("CFF ", writeCff(outlines(some(tables, ["head", "maxp", "CFF "]), glyphs, "CFF")));
  const digest = digestOf(made);
  made.set("post", postTable).set("name", nameTable(digest));
  return { content: writeFont(made), format: isTrueType ? "ttf" : "otf", names, digest };
}

const some = (tables: Tables, tags: readonly string[]): Buffer =>
  writeFont(new Map([...tables].filter(([tag]) => tags.includes(tag))));

/** In em. */
const maxAdvance = 20;
const maxLayoutBytes = 1024 ** 2;

/** The number of glyphs. @throws FontRefusal, RangeError where a table ends early */
function checkSizes(tables: Tables): number {
  const [head, maxp, hhea, hmtx] = ["head", "maxp", "hhea", "hmtx"].map((tag) => tables.get(tag)!) as [
    ...[head: Buffer, maxp: Buffer, hhea: Buffer, hmtx: Buffer],
  ];
  const unitsPerEm = head.readUInt16BE(18);
  if (head.readUInt32BE(12) !== 0x5f0f3cf5 || unitsPerEm < 16 || unitsPerEm > 16_384) throw damaged("head");
  const glyphs = maxp.readUInt16BE(4);
  if (glyphs === 0) throw damaged("maxp");
  const advances = hhea.readUInt16BE(34);
  const lines = [4, 6, 8].map((at) => Math.abs(hhea.readInt16BE(at)));
  if (advances === 0 || advances > glyphs || Math.max(...lines) > maxAdvance * unitsPerEm)
    throw damaged("hhea");
  if (hmtx.length < 2 * (advances + glyphs)) throw damaged("hmtx");
  for (let index = 0; index < advances; index++)
    if (hmtx.readUInt16BE(4 * index) > maxAdvance * unitsPerEm) throw damaged("hmtx");
  for (const tag of layout) if ((tables.get(tag)?.length ?? 0) > maxLayoutBytes) throw damaged(tag);
  return glyphs;
}

/** Of a font with three tables of all characters there are. */
const maxCharacters = 3 * 0x110000;

/**
 * Characters are told in ranges, and HarfBuzz goes through all: those that are told many times over could take hours.
 * @throws FontRefusal, RangeError where the table ends early
 */
function checkCharacters(cmap: Buffer): void {
  let characters = 0;
  const add = (first: number, last: number) => {
    characters += Math.max(last - first + 1, 0);
    if (characters > maxCharacters) throw damaged("cmap");
  };
  const places = Array.from({ length: cmap.readUInt16BE(2) }, (_, index) => cmap.readUInt32BE(8 + 8 * index));
  for (const at of new Set(places)) {
    const format = cmap.readUInt16BE(at);
    if (format === 4) {
      const bytes = cmap.readUInt16BE(at + 6);
      for (let end = at + 14; end < at + 14 + bytes; end += 2)
        add(cmap.readUInt16BE(end + bytes + 2), cmap.readUInt16BE(end));
    } else if (format === 12 || format === 13) {
      const groups = cmap.readUInt32BE(at + 12);
      for (let group = at + 16; group < at + 16 + 12 * groups; group += 12)
        add(cmap.readUInt32BE(group), cmap.readUInt32BE(group + 4));
    }
  }
}

/** Whether none of the glyphs was left out as damaged. @throws FontRefusal, RangeError where a table ends early */
function checkGlyphs(tables: Tables, made: Tables, glyphs: number): void {
  const glyf = tables.get("glyf")!;
  const [before, after] = [placesOf(tables), placesOf(made)];
  for (let glyph = 0; glyph < glyphs; glyph++) {
    const start = before(glyph);
    const length = before(glyph + 1) - start;
    if (length < 0) throw damaged("loca");
    if (length > 0 && glyf.readInt16BE(start) !== 0 && after(glyph) === after(glyph + 1))
      throw damaged("glyf");
  }
}

/** Where the bytes of each glyph begin. */
function placesOf(tables: Tables): (glyph: number) => number {
  const loca = tables.get("loca")!;
  const isLong = tables.get("head")!.readInt16BE(50) === 1;
  return (glyph) => (isLong ? loca.readUInt32BE(4 * glyph) : 2 * loca.readUInt16BE(2 * glyph));
}

/** Version 3: glyphs have no names. */
const postTable = Buffer.alloc(32);
postTable.writeUInt32BE(0x00030000);

function digestOf(tables: Tables): string {
  const hash = createHash("sha256");
  for (const [tag, table] of tables) hash.update(`${tag}${table.length} `).update(table);
  return hash.digest("hex");
}
