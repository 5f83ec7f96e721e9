import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Puts a catalogue where a system has names of towns in a language. */
export function putCatalogue(folder: string, language: string, content: Buffer): void {
  const place = join(folder, language, "LC_MESSAGES");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "geonames.mo"), content);
}

/** Names of some towns, by GeoNames' numbers, as a system may have them: a folder of translations. */
export function putSomeNames(folder: string): string {
  const [munich, lucerne, cologne] = ["2867714", "2659811", "2886242"];
  const languages = {
    en: { [munich]: "Munich", [lucerne]: "Lucerne", [cologne]: "Cologne" },
    de: { [munich]: "München", [lucerne]: "Luzern", [cologne]: "Köln" },
    ru: { [munich]: "Мюнхен", [lucerne]: "Люцерн", [cologne]: "Кёльн" },
    pl: { [munich]: "Monachium", [cologne]: "Kolonia" },
  };
  for (const [language, names] of Object.entries(languages)) putCatalogue(folder, language, catalogue(names));
  return folder;
}

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
