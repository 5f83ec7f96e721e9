/** A catalogue of translations as GNU gettext compiles it. */
export function catalogue(translations: Readonly<Record<string, string>>, isLittle = true): Buffer {
  const entries = Object.entries({ "": "Content-Type: text/plain; charset=UTF-8\n", ...translations });
  const texts = 28;
  const translated = texts + 8 * entries.length;
  const strings: Buffer[] = [];
  let at = translated + 8 * entries.length;
  const place = (text: string): number[] => {
    const bytes = Buffer.from(text);
    strings.push(bytes, Buffer.alloc(1));
    const entry = [bytes.length, at];
    at += bytes.length + 1;
    return entry;
  };
  const tables = [entries.map(([text]) => text), entries.map(([, text]) => text)].flat().flatMap(place);
  const words = [0x950412de, 0, entries.length, texts, translated, 0, at, ...tables];
  const head = Buffer.alloc(4 * words.length);
  for (const [index, word] of words.entries()) {
    if (isLittle) head.writeUInt32LE(word, 4 * index);
    else head.writeUInt32BE(word, 4 * index);
  }
  return Buffer.concat([head, ...strings]);
}
