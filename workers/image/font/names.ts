import { damaged, FontRefusal } from "./sfnt.js";

/** Names in fonts (`name`). */

const [legacyFamily, legacyStyle, fullName, family, style] = [1, 2, 4, 16, 17];
const maxLength = 100;
const maxRecords = 2_000;

/**
 * The names of the font's face: family and style, as Mapnik names faces, the same as older programs see them, and the full
 * name. @throws FontRefusal, RangeError where the table ends early
 */
export function faceNames(table: Buffer): readonly string[] {
  const names = readNames(table);
  const older = names.get(legacyFamily) ?? names.get(family);
  if (older === undefined) throw new FontRefusal("It has no name.");
  const olderStyle = names.get(legacyStyle) ?? "Regular";
  const face = `${names.get(family) ?? older} ${names.get(style) ?? olderStyle}`;
  const all = [face, `${older} ${olderStyle}`, names.get(fullName) ?? face];
  return [...new Set(all)];
}

/** By number: of several languages the English one, of several platforms Windows'. */
function readNames(table: Buffer): ReadonlyMap<number, string> {
  const found = new Map<number, { readonly text: string; readonly rank: number }>();
  const count = table.readUInt16BE(2);
  const texts = table.readUInt16BE(4);
  if (count > maxRecords) throw damaged("name");
  for (let index = 0; index < count; index++) {
    const at = 6 + 12 * index;
    const [platform, encoding, language, id, length, offset] = [0, 2, 4, 6, 8, 10].map((field) =>
      table.readUInt16BE(at + field),
    ) as [number, number, number, number, number, number];
    const rank = rankOf(platform, encoding, language);
    if (rank === 0 || (found.get(id)?.rank ?? 0) >= rank) continue;
    const start = texts + offset;
    if (start + length > table.length) throw damaged("name");
    const text = plain(table.subarray(start, start + length), platform === 1);
    if (text !== "") found.set(id, { text, rank });
  }
  return new Map([...found].map(([id, { text }]) => [id, text]));
}

/** 0 = not read. */
function rankOf(platform: number, encoding: number, language: number): number {
  if (platform === 3 && encoding <= 10 && language === 0x409) return 4;
  if (platform === 3 && encoding <= 10) return 1;
  if (platform === 0) return 2;
  return platform === 1 && encoding === 0 && language === 0 ? 3 : 0;
}

function plain(bytes: Buffer, isLatin: boolean): string {
  const text = isLatin
    ? bytes.toString("latin1")
    : Buffer.from(bytes.subarray(0, bytes.length & ~1))
        .swap16()
        .toString("utf16le");
  const shown = text
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "")
    .replace(/ +/g, " ")
    .trim();
  return [...shown].slice(0, maxLength).join("");
}

/** A table that names the face `<family> Regular`. */
export function nameTable(familyName: string): Buffer {
  const names = [
    [legacyFamily, familyName],
    [legacyStyle, "Regular"],
    [fullName, `${familyName} Regular`],
  ] as const;
  const header = Buffer.alloc(6 + 12 * names.length);
  header.writeUInt16BE(names.length, 2);
  header.writeUInt16BE(header.length, 4);
  let offset = 0;
  const texts = names.map(([id, text], index) => {
    const bytes = Buffer.from(text, "utf16le").swap16();
    const fields = [3, 1, 0x409, id, bytes.length, offset];
    for (const [field, value] of fields.entries()) header.writeUInt16BE(value, 6 + 12 * index + 2 * field);
    offset += bytes.length;
    return bytes;
  });
  return Buffer.concat([header, ...texts]);
}
