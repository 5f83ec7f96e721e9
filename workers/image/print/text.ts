import { arranged, directionsOf } from "./direction.js";

/**
 * Text into lines. Our own, since pdfkit takes time without bound over long words and knows left to right only: a word of 10,000
 * letters takes it 12 seconds (version 0.20.2), and 7 ms here.
 */

/** Width of a text in points. */
export type Measure = (text: string) => number;

export interface Line {
  /** Texts as they stand from left to right; more than one where some are read from right to left. */
  readonly parts: readonly string[];
  /** Whether it begins at the right edge. */
  readonly rightToLeft: boolean;
}

/** Longer words are cut before anybody measures them. */
const wordLength = 60;

/** Breaks a text at its own line ends, else between words, and within words that are wider than a line. */
export function* linesOf(text: string, width: number, measure: Measure): Generator<Line, void, undefined> {
  const space = measure(" ");
  for (const paragraph of plain(text).split("\n")) {
    const directions = directionsOf(paragraph);
    // Directions are those of the whole paragraph, the order is that within the line.
    const lineOf = (start: number, end: number): Line => {
      const line = paragraph.slice(start, end);
      return directions
        ? { parts: arranged(line, directions, start), rightToLeft: directions.level === 1 }
        : { parts: [line], rightToLeft: false };
    };
    let line: { start: number; end: number } | undefined;
    let used = 0;
    for (const { start, end, joined } of piecesOf(paragraph, width, measure)) {
      const wide = measure(paragraph.slice(start, end));
      const gap = joined ? 0 : space;
      if (line && used + gap + wide > width) {
        yield lineOf(line.start, line.end);
        line = undefined;
      }
      used = line ? used + gap + wide : wide;
      line = { start: line?.start ?? start, end };
    }
    yield lineOf(line?.start ?? 0, line?.end ?? 0);
  }
}

/** One kind of line end; no control characters and no marks of direction, which fonts draw as boxes. */
const plain = (text: string): string =>
  text
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
    .replace(/\t/g, "    ")
    .replace(/(?!\n)[\p{Cc}\p{Cf}]|\ufe0e|\ufe0f/gu, "");

/** A part of a paragraph that is not broken; `joined` = no space stands before it. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly joined: boolean;
}

function* piecesOf(paragraph: string, width: number, measure: Measure): Generator<Piece, void, undefined> {
  let start = 0;
  for (const word of paragraph.split(" ")) {
    const end = start + word.length;
    if (word.length <= wordLength && (word.length < 8 || measure(word) <= width))
      yield { start, end, joined: false };
    else yield* cut(word, start, width, measure);
    start = end + 1;
  }
}

/** A word in pieces that are no wider than a line. */
function* cut(
  word: string,
  wordStart: number,
  width: number,
  measure: Measure,
): Generator<Piece, void, undefined> {
  let start = wordStart;
  let end = start;
  let wide = 0;
  for (const character of word) {
    const more = measure(character);
    if (end > start && (wide + more > width || end - start >= wordLength)) {
      yield { start, end, joined: start > wordStart };
      start = end;
      wide = 0;
    }
    end += character.length;
    wide += more;
  }
  yield { start, end, joined: start > wordStart };
}
