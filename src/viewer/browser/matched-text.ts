/** Which parts of a text match what is searched for. Does not depend on the DOM. */

export interface TextPart {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Without case and accents, as the server compares texts. */
const folded = (text: string): string =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("ß", "ss").replaceAll("ё", "е");

/** Between digits the signs belong to a number. The server parts words so, too. */
const parting = /\s+|(?<!\p{N})[,;-]|[,;-](?!\p{N})/u;
const ends = /^[,;.:!?()[\]{}<>"'“”„«»]+|[,;.:!?()[\]{}<>"'“”„«»]+$/gu;

/** The words of a phrase, as they are compared: without the signs around them, where there is anything else. */
function wordsOf(phrase: string): string[] {
  const whole = folded(phrase);
  const words = whole.split(parting).flatMap((word) => word.replace(ends, "") || []);
  return words.length > 0 ? words : whole.split(/\s+/u).filter(Boolean);
}

/** Whether the text has all words of the phrase. */
export function matches(text: string, phrase: string): boolean {
  const words = wordsOf(phrase);
  const own = folded(text);
  return words.length > 0 && words.every((word) => own.includes(word));
}

/** Characters of a text that are looked at, and shown: what lies behind would take long, and nobody would read it. */
const mostCharacters = 2_000;

/** Of a text that lists names, parted by semicolons, those that have all words of the phrase; the beginning of the text where none has. */
export function matchedNames(text: string, phrase: string): string {
  const seen = text.slice(0, mostCharacters);
  const names = seen.split("; ").filter((name) => matches(name, phrase));
  return names.length > 0 ? names.join("; ") : seen;
}

/** The text in parts, those that have a word of the phrase apart. */
export function matchedParts(text: string, phrase: string): TextPart[] {
  const characters = [...text];
  const folds = characters.map(folded);
  const whole = folds.join("");
  const marked = new Array<boolean>(whole.length).fill(false);
  for (const word of wordsOf(phrase)) {
    for (let at = whole.indexOf(word); at >= 0; at = whole.indexOf(word, at + word.length))
      marked.fill(true, at, at + word.length);
  }
  const parts: { text: string; isMatch: boolean }[] = [];
  let at = 0;
  let isMatch = false;
  for (const [index, character] of characters.entries()) {
    const { length } = folds[index]!;
    // An accent of its own belongs to its letter.
    if (length > 0) isMatch = marked.slice(at, at + length).some(Boolean);
    at += length;
    const last = parts.at(-1);
    if (last?.isMatch === isMatch) last.text += character;
    else parts.push({ text: character, isMatch });
  }
  return parts;
}
