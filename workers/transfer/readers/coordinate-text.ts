/** Reads coordinates as people write them: `37.6`, `37,6`, `6 178 123,45`, `55°45'21"N`, `N55.75`, `37° 36′ в. д.`. */

const plain = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const grouped = /^[+-]?\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?$/;
const hemisphere = "N|S|E|W|С(?:\\.? ?Ш\\.?)?|Ю(?:\\.? ?Ш\\.?)?|В(?:\\.? ?Д\\.?)?|З(?:\\.? ?Д\\.?)?";
const part = "\\d+(?:[.,]\\d+)?";
const degrees = new RegExp(
  `^(${hemisphere})?\\s*([+-]?)(${part})\\s*([°º˚]?)\\s*(?:(${part})\\s*['′’]\\s*(?:(${part})\\s*(?:["″”]|''|′′))?)?\\s*(${hemisphere})?$`,
  "iu",
);

/** The coordinate in units of the text; degrees, minutes and seconds as degrees. NaN when the text is none. */
export function readCoordinate(text: string): number {
  const trimmed = text.trim();
  if (plain.test(trimmed)) return finite(Number(trimmed));
  if (trimmed.length > 60) return Number.NaN;
  const point = trimmed.replace(",", ".");
  if (plain.test(point)) return finite(Number(point));
  if (grouped.test(trimmed)) return Number(point.replace(/[ \u00a0\u202f]/g, ""));
  const match = degrees.exec(trimmed);
  return match ? fromDegrees(match) : Number.NaN;
}

function fromDegrees([, before, sign, whole, symbol, minutes, seconds, after]: RegExpExecArray): number {
  const side = (before ?? after)?.charAt(0).toUpperCase();
  // Without a degree sign or a hemisphere the text is no angle; with two hemispheres it contradicts itself.
  if ((!symbol && side === undefined) || (before !== undefined && after !== undefined)) return Number.NaN;
  if (minutes !== undefined && !symbol) return Number.NaN;
  const [inMinutes, inSeconds] = [number(minutes), number(seconds)];
  if (inMinutes >= 60 || inSeconds >= 60 || (sign === "-" && side !== undefined)) return Number.NaN;
  const value = number(whole) + inMinutes / 60 + inSeconds / 3600;
  return sign === "-" || (side !== undefined && "SWЮЗ".includes(side)) ? -value : value;
}

const number = (text: string | undefined): number =>
  text === undefined ? 0 : Number(text.replace(",", "."));

const finite = (value: number): number => (Number.isFinite(value) ? value : Number.NaN);
