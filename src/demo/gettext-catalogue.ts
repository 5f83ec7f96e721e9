/**
 * Reads catalogues of translations as GNU gettext compiles them (https://www.gnu.org/software/gettext/manual/html_node/MO-Files.html):
 * a magic number, which tells the order of bytes, then two tables of lengths and places, one of texts and one of their
 * translations.
 */

const magic = 0x950412de;
const headerBytes = 20;
const entryBytes = 8;

/**
 * Translations by their texts, without the catalogue's description of itself, whose text is empty.
 * @throws Error for a file that is none, or that is cut
 */
export function readCatalogue(file: Buffer): Map<string, string> {
  const isLittle = file.length >= headerBytes && file.readUInt32LE(0) === magic;
  if (!isLittle && !(file.length >= headerBytes && file.readUInt32BE(0) === magic))
    throw new Error("this is no catalogue of translations");
  const number = (at: number): number => (isLittle ? file.readUInt32LE(at) : file.readUInt32BE(at));
  // No part lies in two places, so that all of them are no longer than the file.
  let left = file.length - headerBytes;
  const part = (at: number, length: number): Buffer => {
    left -= length;
    if (at + length > file.length || left < 0)
      throw new Error("the catalogue of translations is cut, or its tables are wrong");
    return file.subarray(at, at + length);
  };
  const [count, texts, translations] = [number(8), number(12), number(16)];
  part(texts, count * entryBytes);
  part(translations, count * entryBytes);
  const textAt = (entry: number): string => part(number(entry + 4), number(entry)).toString("utf8");
  const found = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const text = textAt(texts + index * entryBytes);
    const translation = textAt(translations + index * entryBytes);
    // Forms for numbers are parted by a zero, which no text of the database may have.
    if (text !== "") found.set(text, translation.split("\0")[0]!);
  }
  return found;
}
