import { Blob, Face } from "harfbuzzjs";
import { FontRefusal } from "./sfnt.js";

/** Names in fonts (`name`). */

const [legacyFamily, legacyStyle, fullName, family, style] = [1, 2, 4, 16, 17];
const maxLength = 100;

/**
 * The names of the font's face: family and style, as Mapnik names faces, the same as older programs see them, and the full
 * name. @throws FontRefusal
 */
export function faceNames(font: Buffer): readonly string[] {
  const face = new Face(new Blob(font));
  const listed = face.listNames();
  const name = (id: number): string | undefined => {
    const all = listed.filter(({ nameId }) => nameId === id);
    const best = all.find(({ language }) => language === "en") ?? all[0];
    return (best && plain(face.getName(id, best.language))) || undefined;
  };
  const older = name(legacyFamily) ?? name(family);
  if (older === undefined) throw new FontRefusal("It has no name.");
  const olderStyle = name(legacyStyle) ?? "Regular";
  const known = `${name(family) ?? older} ${name(style) ?? olderStyle}`;
  return [...new Set([known, `${older} ${olderStyle}`, name(fullName) ?? known])];
}

function plain(text: string): string {
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
