/** Texts in encodings of limited range or length. */

/** The byte of each UTF-16 unit in Windows-1251; 0 for those that it lacks. */
const cp1251 = new Uint8Array(0x10000);
for (const [code, unit] of [...new TextDecoder("windows-1251").decode(allBytes())].entries())
  cp1251[unit.charCodeAt(0)] = code;

function allBytes(): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => code);
}

const isForeign = (unit: number): boolean => unit > 0x7f && cp1251[unit] === 0;

export function isInCp1251(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (isForeign(text.charCodeAt(index))) return false;
  return true;
}

/** The text with "?" for each character that Windows-1251 lacks. */
export const toCp1251 = (text: string): string =>
  [...text].map((character) => (isInCp1251(character) ? character : "?")).join("");

/** JSON with escapes for what Windows-1251 lacks. */
export const escapedForCp1251 = (json: string): string =>
  json.replace(/[^\0-\x7f]/g, (unit) =>
    isInCp1251(unit) ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The byte of a UTF-16 unit that `isInCp1251` has found. */
export const cp1251Byte = (unit: number): number => cp1251[unit]!;

/** The longest beginning of the text that has no more bytes in UTF-8. */
export function cutToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  let end = bytes;
  // Bytes 10xxxxxx continue a character.
  while ((encoded[end]! & 0xc0) === 0x80) end--;
  return encoded.toString("utf8", 0, end);
}
