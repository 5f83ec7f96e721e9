/** Texts in encodings of limited range or length. */

/** The characters of Windows-1251. */
const cp1251 = new Set(
  new TextDecoder("windows-1251").decode(Uint8Array.from({ length: 256 }, (_, code) => code)),
);
const ascii = /^[\0-\x7f]*$/;

export function isInCp1251(text: string): boolean {
  if (ascii.test(text)) return true;
  for (const character of text) if (!cp1251.has(character)) return false;
  return true;
}

/** The text with "?" for each character that Windows-1251 lacks. */
export const toCp1251 = (text: string): string =>
  [...text].map((character) => (cp1251.has(character) ? character : "?")).join("");

/** The longest beginning of the text that has no more bytes in UTF-8. */
export function cutToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  let end = bytes;
  // Bytes 10xxxxxx continue a character.
  while ((encoded[end]! & 0xc0) === 0x80) end--;
  return encoded.toString("utf8", 0, end);
}
