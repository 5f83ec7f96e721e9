/** Text into lines. Our own, since pdfkit takes time without bound over long words and knows left to right only. */

/** Width of a text in points. */
export type Measure = (text: string) => number;

export interface Line {
  /** In the order in which they stand from left to right. */
  readonly words: readonly string[];
  /** Whether it begins at the right edge. */
  readonly rightToLeft: boolean;
  /** Whether any word is read from right to left. */
  readonly turned: boolean;
}

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const strong = /[\p{L}]/u;
/** Longer words are cut before anybody measures them. */
const wordLength = 60;

/** Breaks a text at its own line ends, else between words, and within words that are wider than a line. */
export function* linesOf(text: string, width: number, measure: Measure): Generator<Line, void, undefined> {
  const space = measure(" ");
  for (const paragraph of plain(text).split("\n")) {
    const first = strong.exec(paragraph)?.[0] ?? "";
    const toLeft = rightToLeft.test(first);
    let words: string[] = [];
    let used = 0;
    for (const word of piecesOf(paragraph, width, measure)) {
      const wide = measure(word.text);
      const gap = word.joined || words.length === 0 ? 0 : space;
      if (words.length > 0 && used + gap + wide > width) {
        yield arranged(words, toLeft);
        words = [];
        used = 0;
      }
      used += (words.length === 0 ? 0 : gap) + wide;
      if (word.joined && words.length > 0) words.push(`${words.pop()}${word.text}`);
      else words.push(word.text);
    }
    yield arranged(words, toLeft);
  }
}

/** One kind of line end; no control characters and no marks of direction, which fonts draw as boxes. */
const plain = (text: string): string =>
  text
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
    .replace(/\t/g, "    ")
    .replace(/(?!\n)[\p{Cc}\p{Cf}]|\ufe0e|\ufe0f/gu, "");

/** A part of a line that is not broken; `joined` = no space stands before it. */
interface Piece {
  readonly text: string;
  readonly joined: boolean;
}

function* piecesOf(paragraph: string, width: number, measure: Measure): Generator<Piece, void, undefined> {
  for (const word of paragraph.split(" ")) {
    if (word.length <= wordLength && (word.length < 8 || measure(word) <= width)) {
      yield { text: word, joined: false };
      continue;
    }
    let joined = false;
    let part = "";
    let wide = 0;
    for (const character of word) {
      const more = measure(character);
      if (part !== "" && (wide + more > width || part.length >= wordLength)) {
        yield { text: part, joined };
        joined = true;
        part = "";
        wide = 0;
      }
      part += character;
      wide += more;
    }
    if (part !== "") yield { text: part, joined };
  }
}

/**
 * Words of a line as they stand from left to right: runs of words that are read from right to left are turned round.
 * (The font turns the letters of each word. This is Unicode's algorithm as far as whole words go.)
 */
export function arranged(words: readonly string[], toLeft: boolean): Line {
  if (!toLeft && !words.some((word) => rightToLeft.test(word)))
    return { words, rightToLeft: false, turned: false };
  const kinds = words.map((word) => (rightToLeft.test(word) ? true : strong.test(word) ? false : undefined));
  // Numbers and signs go with what is on both sides of them, else with the paragraph.
  const turned = kinds.map((kind, index) => {
    if (kind !== undefined) return kind;
    const before = kinds.slice(0, index).findLast((other) => other !== undefined) ?? toLeft;
    const after = kinds.slice(index + 1).find((other) => other !== undefined) ?? toLeft;
    return before === after ? before : toLeft;
  });
  const line: string[] = [];
  for (let at = 0; at < words.length; ) {
    let end = at + 1;
    while (end < words.length && turned[end] === turned[at]) end++;
    const run = words.slice(at, end);
    if (turned[at]) run.reverse();
    if (toLeft) line.unshift(...run);
    else line.push(...run);
    at = end;
  }
  return { words: line, rightToLeft: toLeft, turned: true };
}
