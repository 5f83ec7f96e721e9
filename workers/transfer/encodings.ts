import { Refusal } from "./refusal.js";

/** Names of text encodings, as clients and files write them, and the labels of `TextDecoder` for them. */

/** Code pages of Windows, DOS and Macintosh whose `TextDecoder` label is not `windows-<number>`. */
const codePages: Readonly<Record<number, string>> = {
  866: "ibm866",
  874: "windows-874",
  932: "shift_jis",
  936: "gbk",
  949: "euc-kr",
  950: "big5",
  1200: "utf-16le",
  1201: "utf-16be",
  10000: "macintosh",
  10007: "x-mac-cyrillic",
  20866: "koi8-r",
  21866: "koi8-u",
  54936: "gb18030",
  65001: "utf-8",
};

/** Names without their punctuation, in lower case; the last ones are those of MapInfo. */
const names: Readonly<Record<string, string>> = {
  utf: "utf-8",
  utf8: "utf-8",
  utf8bom: "utf-8",
  utf8sig: "utf-8",
  utf16: "utf-16le",
  utf16le: "utf-16le",
  utf16be: "utf-16be",
  unicode: "utf-16le",
  ucs2: "utf-16le",
  koi8: "koi8-r",
  koi8r: "koi8-r",
  koi8u: "koi8-u",
  maccyrillic: "x-mac-cyrillic",
  windowslatin1: "windows-1252",
  windowslatin2: "windows-1250",
  windowscyrillic: "windows-1251",
  windowsgreek: "windows-1253",
  windowsturkish: "windows-1254",
  windowshebrew: "windows-1255",
  windowsarabic: "windows-1256",
  windowsbalticrim: "windows-1257",
  windowsbaltic: "windows-1257",
  windowsvietnamese: "windows-1258",
  windowsthai: "windows-874",
  windowsjapanese: "shift_jis",
  windowssimpchinese: "gbk",
  windowstradchinese: "big5",
  windowskorean: "euc-kr",
};

/** Language ids of DBF files (byte 29): numbers of code pages. 0 and 0x57 ("ANSI") say nothing. */
const languageIds: Readonly<Record<number, number>> = {
  3: 1252,
  4: 10000,
  19: 932,
  38: 866,
  77: 936,
  78: 949,
  79: 950,
  80: 874,
  88: 1252,
  89: 1252,
  101: 866,
  120: 950,
  121: 949,
  122: 936,
  123: 932,
  124: 874,
  125: 1255,
  126: 1256,
  150: 10007,
  200: 1250,
  201: 1251,
  202: 1254,
  203: 1253,
  204: 1257,
};

const shownNames =
  "UTF-8, UTF-16, windows-1250 to windows-1258, cp866, KOI8-R, KOI8-U, ISO-8859-1 to ISO-8859-16";

/**
 * The `TextDecoder` label for a name such as `cp1251`, `ANSI 1251`, `65001`, `ISO 8859-5`, `WindowsCyrillic` or
 * `ANSI_1251`; undefined for names that mean no encoding, and for encodings that `TextDecoder` does not know.
 */
export function encodingOf(name: string): string | undefined {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const known = Object.hasOwn(names, plain) ? names[plain] : undefined;
  if (known !== undefined) return known;
  const iso = /^(?:iso|cp)?8859(\d{1,2})$/.exec(plain)?.[1] ?? /^286?59(\d)$/.exec(plain)?.[1];
  if (iso !== undefined) return labelOf(`iso-8859-${iso}`);
  const page = /^(?:cp|xcp|ansi|windows|win|ms|codepage|ibm|dos|oem)?(\d{3,5})$/.exec(plain)?.[1];
  if (page !== undefined) return codePage(Number(page));
  return labelOf(name.trim());
}

/** @throws Refusal invalid_value for an unknown name in a request */
export function requestedEncoding(name: string): string {
  const label = encodingOf(name.slice(0, 100));
  if (label !== undefined) return label;
  throw new Refusal("invalid_value", `The encoding is none that is known here: ${shownNames}.`, {
    parameter: "encoding",
  });
}

/** The encoding of a DBF file by its language id; undefined when the id says nothing that `TextDecoder` knows. */
export function encodingOfLanguageId(id: number): string | undefined {
  const page = languageIds[id];
  return page === undefined ? undefined : codePage(page);
}

const codePage = (page: number): string | undefined => codePages[page] ?? labelOf(`windows-${page}`);

function labelOf(name: string): string | undefined {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    return undefined;
  }
}
