import { createHash } from "node:crypto";
import { checkCff } from "./cff.js";
import { rewriteCharacters } from "./characters.js";
import { type Glyphs, rewriteGlyphs } from "./glyf.js";
import { faceNames, nameTable } from "./names.js";
import { damaged, FontRefusal, readTables, slice, writeFont } from "./sfnt.js";

/**
 * Writes fonts anew for a renderer that trusts them: outlines, sizes, characters, and the rules of scripts, which HarfBuzz
 * checks by itself. Programs for hinting, pictures and all other tables are left out.
 *
 * Why not HarfBuzz's subsetter, which writes fonts anew too: of the 40 fonts of `test/robustness/fonts.test.ts` it takes 23 (version
 * 1.6.4 of its npm package, all glyphs kept), those among them whose glyphs are parts of themselves, multiply, or are as large as a
 * page. Mapnik would pay for these.
 */

export interface SafeFont {
  readonly content: Buffer;
  readonly format: "ttf" | "otf";
  /** Names that styles have for the face. */
  readonly names: readonly string[];
  /** Hash of all but the names. The face in `content` is named `<digest> Regular`, as no other font is. */
  readonly digest: string;
}

/** @throws FontRefusal */
export function safeFont(file: Buffer): SafeFont {
  try {
    return rewrite(readTables(file));
  } catch (error) {
    if (error instanceof RangeError) throw new FontRefusal("One of its tables ends early.");
    throw error;
  }
}

function rewrite(tables: ReadonlyMap<string, Buffer>): SafeFont {
  const need = (tag: string): Buffer => {
    const table = tables.get(tag);
    if (!table) throw new FontRefusal(`It has no table ${tag.trim()}.`);
    return table;
  };
  const isTrueType = tables.has("glyf");
  if (!isTrueType && !tables.has("CFF "))
    throw new FontRefusal("It has no outlines: fonts of bitmaps are not drawn.");
  const names = faceNames(need("name"));
  const head = headOf(need("head"));
  const { glyphs, maxp } = counted(need("maxp"), isTrueType);
  const unitsPerEm = head.readUInt16BE(18);
  const kept = new Map<string, Buffer>([
    ["cmap", rewriteCharacters(need("cmap"), glyphs)],
    ["post", postTable],
    ...metrics(need("hhea"), need("hmtx"), { glyphs, unitsPerEm }),
    ...optional(tables),
  ]);
  if (isTrueType) {
    const made = rewriteGlyphs({
      glyf: need("glyf"),
      loca: need("loca"),
      hasLongOffsets: head.readInt16BE(50) === 1,
      glyphs,
      unitsPerEm,
    });
    kept.set("glyf", made.glyf).set("loca", made.loca);
    writeMost(maxp, made);
    head.writeInt16BE(1, 50);
  } else {
    checkCff(need("CFF "), { glyphs, unitsPerEm });
    kept.set("CFF ", need("CFF "));
  }
  kept.set("head", head).set("maxp", maxp);
  const digest = digestOf(kept);
  kept.set("name", nameTable(digest));
  return { content: writeFont(kept), format: isTrueType ? "ttf" : "otf", names, digest };
}

function headOf(table: Buffer): Buffer {
  const head = Buffer.from(slice(table, 0, 54, "head"));
  const unitsPerEm = head.readUInt16BE(18);
  if (head.readUInt32BE(12) !== 0x5f0f3cf5 || unitsPerEm < 16 || unitsPerEm > 16_384) throw damaged("head");
  // The checksum of the whole file.
  head.writeUInt32BE(0, 8);
  return head;
}

/** The number of glyphs, and a table of it in which nothing of programs is left. */
function counted(table: Buffer, isTrueType: boolean): { glyphs: number; maxp: Buffer } {
  const glyphs = table.readUInt16BE(4);
  if (glyphs === 0) throw damaged("maxp");
  const maxp = Buffer.alloc(isTrueType ? 32 : 6);
  maxp.writeUInt32BE(isTrueType ? 0x00010000 : 0x00005000);
  maxp.writeUInt16BE(glyphs, 4);
  return { glyphs, maxp };
}

function writeMost(maxp: Buffer, { most }: Glyphs): void {
  const { points, contours, compositePoints, compositeContours, components, depth } = most;
  for (const [index, value] of [points, contours, compositePoints, compositeContours].entries())
    maxp.writeUInt16BE(value, 6 + 2 * index);
  maxp.writeUInt16BE(1, 14);
  maxp.writeUInt16BE(components, 28);
  maxp.writeUInt16BE(depth, 30);
}

const maxAdvance = 20;

function metrics(
  hhea: Buffer,
  hmtx: Buffer,
  { glyphs, unitsPerEm }: { readonly glyphs: number; readonly unitsPerEm: number },
): [string, Buffer][] {
  const header = slice(hhea, 0, 36, "hhea");
  const advances = header.readUInt16BE(34);
  if (advances === 0 || advances > glyphs) throw damaged("hhea");
  for (const field of [4, 6, 8])
    if (Math.abs(header.readInt16BE(field)) > maxAdvance * unitsPerEm) throw damaged("hhea");
  const sizes = slice(hmtx, 0, 4 * advances + 2 * (glyphs - advances), "hmtx");
  for (let index = 0; index < advances; index++)
    if (sizes.readUInt16BE(4 * index) > maxAdvance * unitsPerEm) throw damaged("hmtx");
  return [
    ["hhea", header],
    ["hmtx", sizes],
  ];
}

/** Of scripts: which glyphs are joined, replaced and moved. */
const layout = ["GDEF", "GPOS", "GSUB"];
const maxLayoutBytes = 1024 ** 2;

function optional(tables: ReadonlyMap<string, Buffer>): [string, Buffer][] {
  const found: [string, Buffer][] = [];
  for (const tag of layout) {
    const table = tables.get(tag);
    if (!table) continue;
    if (table.length > maxLayoutBytes) throw damaged(tag);
    found.push([tag, table]);
  }
  const about = tables.get("OS/2");
  if (about) found.push(["OS/2", aboutTable(about)]);
  return found;
}

const bytesByVersion = [78, 86, 96, 96, 96, 100];

function aboutTable(table: Buffer): Buffer {
  const bytes = bytesByVersion[table.readUInt16BE(0)];
  if (bytes === undefined) throw damaged("OS/2");
  return slice(table, 0, bytes, "OS/2");
}

/** Version 3: glyphs have no names. */
const postTable = Buffer.alloc(32);
postTable.writeUInt32BE(0x00030000);

function digestOf(tables: ReadonlyMap<string, Buffer>): string {
  const hash = createHash("sha256");
  for (const [tag, table] of tables) hash.update(`${tag}${table.length} `).update(table);
  return hash.digest("hex");
}
