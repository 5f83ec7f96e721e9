/** Tells apart the encodings with one byte per character, by the letters that a text would have in each of them. */

/** Frequencies of letters in Russian texts in percent, and of letters of Ukrainian and Belarusian alone. */
const cyrillicFrequencies: Readonly<Record<string, number>> = {
  ...{ о: 10.97, е: 8.45, а: 8.01, и: 7.35, н: 6.7, т: 6.26, с: 5.47, р: 4.73, в: 4.54, л: 4.4, к: 3.49 },
  ...{ м: 3.21, д: 2.98, п: 2.81, у: 2.62, я: 2.01, ы: 1.9, ь: 1.74, г: 1.7, з: 1.65, б: 1.59, ч: 1.44 },
  ...{ й: 1.21, х: 0.97, ж: 0.94, ш: 0.73, ю: 0.64, ц: 0.48, щ: 0.36, э: 0.32, ф: 0.26, ъ: 0.04, ё: 0.1 },
  ...{ і: 3, ї: 0.5, є: 0.4, ґ: 0.02, ў: 0.2 },
};
const vowels = new Set("аеёиоуыэюяіїє");
/** Characters beside letters that texts in any of the encodings have. */
const commonSigns = new Set("«»„“”’‘–—…№°±²³·§\u00a0");

/** The first is preferred where texts are equally likely. */
const cyrillicEncodings = ["windows-1251", "ibm866", "koi8-r", "koi8-u"];

/** Letters with marks, by how often texts of the languages of the encoding have them. */
const westernLetters: Readonly<Record<string, string>> = {
  "windows-1252": "éééééäääöööüüüßßßèèèàààççêêññóóííááúâôîûåååøøøæææããõïëœùòì",
  "windows-1250": "łłłłąąąęęęóóśśśżżżććńńźčččšššžžžřřřěěěůůáááééíííýýťďňőőöűüäşşţţăăăâîđ",
  "iso-8859-2": "łłłłąąąęęęóóśśśżżżććńńźčččšššžžžřřřěěěůůáááééíííýýťďňőőöűüäşşţţăăăâîđ",
};

/**
 * The likeliest encoding of bytes that are neither ASCII nor UTF-8: one of the Cyrillic encodings when the words are written
 * in bytes above 127, else, when such bytes stand between ASCII letters, a western or central European one.
 */
export function likeliestEncoding(bytes: Buffer): string {
  return isCyrillic(bytes)
    ? best(cyrillicEncodings, (label) => cyrillicScore(decode(label, bytes)))
    : best(Object.keys(westernLetters), (label) => westernScore(label, decode(label, bytes)));
}

const decode = (label: string, bytes: Buffer): string => new TextDecoder(label).decode(bytes);

function best(labels: readonly string[], score: (label: string) => number): string {
  const scores = labels.map(score);
  return labels[scores.indexOf(Math.max(...scores))]!;
}

/** Whether more bytes above 127 stand in words of such bytes alone than in words with ASCII letters. */
function isCyrillic(bytes: Buffer): boolean {
  let [alone, mixed, high, ascii] = [0, 0, 0, 0];
  for (let at = 0; at <= bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte > 127) high++;
    else if ((byte | 32) >= 97 && (byte | 32) <= 122) ascii++;
    else {
      if (ascii > 0) mixed += high;
      else if (high > 1) alone += high;
      high = ascii = 0;
    }
  }
  return alone > mixed;
}

function cyrillicScore(text: string): number {
  let score = 0;
  let before = "";
  let beforeIsLower = false;
  for (const character of text) {
    const lower = character.toLowerCase();
    const frequency = cyrillicFrequencies[lower];
    if (frequency === undefined) {
      if (character > "\x7f") score += commonSigns.has(character) ? -1 : -6;
      before = "";
      continue;
    }
    score += Math.log(frequency) + pairScore(before, lower);
    const isLower = character === lower;
    if (before !== "" && beforeIsLower && !isLower) score -= 3;
    before = lower;
    beforeIsLower = isLower;
  }
  return score;
}

/** Vowels and consonants alternate; ь and ъ follow consonants; no word begins with ь, ъ or, mostly, ы. */
function pairScore(before: string, letter: string): number {
  if (letter === "ь" || letter === "ъ") return before === "" || vowels.has(before) ? -4 : 0;
  if (before === "") return letter === "ы" ? -4 : 0;
  if (vowels.has(before) !== vowels.has(letter)) return 0.5;
  return letter === "й" || vowels.has(letter) ? -0.8 : -0.3;
}

function westernScore(label: string, text: string): number {
  const weights = new Map<string, number>();
  for (const letter of westernLetters[label]!) weights.set(letter, (weights.get(letter) ?? 0) + 1);
  let score = 0;
  for (const character of text) {
    if (character <= "\x7f") continue;
    const weight = weights.get(character.toLowerCase());
    score += weight ?? (commonSigns.has(character) ? -1 : -5);
  }
  return score;
}
