import bidiFactory, { type Bidi } from "bidi-js";

/** The order in which the characters of a line stand (Unicode Bidirectional Algorithm, UAX #9). */

// Its types describe an ES module; Node.js loads a CommonJS one, whose default export is the function itself.
const bidi = (bidiFactory as unknown as () => Bidi)();

/** Directions of a paragraph, which lines are broken out of. */
export interface Directions {
  /** Embedding level of each UTF-16 unit: odd = from right to left. */
  readonly levels: Uint8Array;
  /** Level of the paragraph itself, 0 or 1. */
  readonly level: number;
}

/** Characters of scripts from right to left. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** UTF-16 units that are analysed at a time: the library's time grows with the square of their number. */
const maxAnalysed = 500;

/** Directions of a text without line ends; undefined when all of it goes from left to right. */
export function directionsOf(paragraph: string): Directions | undefined {
  if (!rightToLeft.test(paragraph)) return undefined;
  const text = withinBasicPlane(paragraph);
  const levels = new Uint8Array(text.length);
  let level: number | undefined;
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = endOfPart(text, start);
    const base = level === undefined ? "auto" : level === 1 ? "rtl" : "ltr";
    const part = bidi.getEmbeddingLevels(text.slice(start, end), base);
    level ??= part.paragraphs[0]!.level;
    levels.set(part.levels, start);
  }
  return { levels, level: level ?? 0 };
}

/** Where a part that begins at `start` ends: behind a space, if there is one. */
function endOfPart(text: string, start: number): number {
  const end = start + maxAnalysed;
  if (end >= text.length) return text.length;
  const space = text.lastIndexOf(" ", end - 1);
  return space > start ? space + 1 : end;
}

/** The algorithm knows characters of one UTF-16 unit only; others are replaced by two that behave like them. */
const withinBasicPlane = (text: string): string =>
  text.replace(/[\u{10000}-\u{10ffff}]/gu, (character) => {
    if (rightToLeft.test(character)) return "\u05d0\u05d0";
    return /\p{L}/u.test(character) ? "aa" : "••";
  });

/** Characters of one level without a space, or spaces of one level. */
interface Run {
  readonly text: string;
  readonly level: number;
}

/**
 * Texts of a line as they stand from left to right, each of spaces only or without any. A font that turns scripts from
 * right to left, and leaves others as they are, draws the characters of each in the right order.
 * @param start of the line in its paragraph
 */
export function arranged(line: string, { levels, level }: Directions, start: number): string[] {
  const runs: Run[] = [];
  // Spaces at the end of a line have the paragraph's direction (rule L1).
  const end = line.trimEnd().length;
  const levelAt = (index: number) => (index < end ? levels[start + index]! : level);
  for (let at = 0; at < line.length; ) {
    let next = at + 1;
    const isSpace = line[at] === " ";
    while (next < line.length && levelAt(next) === levelAt(at) && (line[next] === " ") === isSpace) next++;
    runs.push({ text: line.slice(at, next), level: levelAt(at) });
    at = next;
  }
  return reordered(runs).map(drawn);
}

/** Rule L2: from the highest level to the lowest odd one, runs of at least that level are reversed. */
function reordered(runs: readonly Run[]): readonly Run[] {
  const order = [...runs];
  for (let level = Math.max(0, ...runs.map((run) => run.level)); level > 0; level--) {
    for (let at = 0; at < order.length; at++) {
      let next = at;
      while (next < order.length && order[next]!.level >= level) next++;
      if (next > at) order.splice(at, next - at, ...order.slice(at, next).reverse());
      at = next;
    }
  }
  return order;
}

/** A run with its brackets mirrored (rule L4), and reversed where the font would not turn it, or turn it wrongly. */
function drawn({ text, level }: Run): string {
  const toLeft = level % 2 === 1;
  const mirrored = toLeft
    ? text.replace(/./gu, (character) => bidi.getMirroredCharacter(character) ?? character)
    : text;
  if (toLeft === isTurnedByFont(text)) return mirrored;
  return (mirrored.match(/\P{M}\p{M}*|\p{M}+/gu) ?? []).reverse().join("");
}

/** fontkit gives a text the direction of its first character that belongs to one script. */
const isTurnedByFont = (text: string): boolean =>
  rightToLeft.test(/[^\p{Script=Common}\p{Script=Inherited}\p{Script=Unknown}]/u.exec(text)?.[0] ?? "");
