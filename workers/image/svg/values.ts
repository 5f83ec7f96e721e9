/** Checks of values in SVGs: each gives the value to be written, or undefined where it is left out. */

const number = "[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d{1,2})?";
const anyNumber = new RegExp(number, "g");

/** Pixels by unit, as CSS has them. */
const units: Readonly<Record<string, number>> = {
  "": 1,
  px: 1,
  pt: 4 / 3,
  pc: 16,
  mm: 96 / 25.4,
  cm: 96 / 2.54,
  in: 96,
};
const length = new RegExp(`^\\s*(${number})\\s*(px|pt|pc|mm|cm|in|)\\s*$`);

/** A length in pixels; undefined for others, such as percentages. */
export function pixels(text: string | undefined): number | undefined {
  const [, value, unit = ""] = length.exec(text ?? "") ?? [];
  return value === undefined ? undefined : Number(value) * (units[unit] as number);
}

export const numbersIn = (text: string): number[] => (text.match(anyNumber) ?? []).map(Number);

const localUrl = /^url\(\s*(['"]?)#([\w.-]{1,100})\1\s*\)$/;

/** The id that a value refers to: `url(#a)` or `#a`. */
export const reference = (text: string): string | undefined =>
  localUrl.exec(text.trim())?.[2] ?? /^#([\w.-]{1,100})$/.exec(text.trim())?.[1];

const color = /^(?:#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,30}|rgba?\([\d.,%\s-]{1,60}\))$/;
const paint = (text: string): string | undefined => {
  const id = localUrl.exec(text)?.[2];
  if (id !== undefined) return `url(#${id})`;
  return color.test(text) ? text : undefined;
};
const word = (text: string): string | undefined => (/^[a-z-]{1,20}$/.test(text) ? text : undefined);
const size = (text: string): string | undefined => {
  if (/^\d{1,3}(?:\.\d+)?%$/.test(text)) return text;
  const value = pixels(text);
  return value === undefined || Math.abs(value) > 1e5 ? undefined : String(value);
};
/** Dashes of nearly no length would be endlessly many. */
const dashes = (text: string): string | undefined => {
  const values = numbersIn(text);
  const sum = values.reduce((total, value) => total + value, 0);
  const fine = values.length <= 16 && values.every((value) => value >= 0 && value <= 1e4) && sum >= 0.5;
  return fine ? values.join(" ") : undefined;
};
const list = (text: string): string | undefined => (/^[\d.,eE\s+-]*$/.test(text) ? text.trim() : undefined);
const path = (text: string): string | undefined =>
  /^[MmLlHhVvCcSsQqTtAaZz\d.,eE\s+-]*$/.test(text) ? text.trim() : undefined;
const transform = (text: string): string | undefined =>
  /^(?:\s*(?:matrix|translate|scale|rotate|skewX|skewY)\s*\([\d.,eE\s+-]{1,300}\)[\s,]*){0,16}$/.test(text)
    ? text.trim()
    : undefined;

type Check = (text: string) => string | undefined;

/** Attributes of shapes, and properties of styles. */
export const presentation: Readonly<Record<string, Check>> = {
  ...{ fill: paint, stroke: paint, color: paint, "stop-color": paint },
  ...{ "fill-opacity": size, "stroke-opacity": size, opacity: size, "stop-opacity": size },
  ...{ "stroke-width": size, "stroke-miterlimit": size, "stroke-dashoffset": size },
  "stroke-dasharray": dashes,
  ...{ "fill-rule": word, "stroke-linecap": word, "stroke-linejoin": word, display: word, visibility: word },
};

export const geometry: Readonly<Record<string, Check>> = {
  ...{ x: size, y: size, width: size, height: size, rx: size, ry: size, r: size, cx: size, cy: size },
  ...{ x1: size, y1: size, x2: size, y2: size, fx: size, fy: size, offset: size },
  ...{ d: path, points: list, transform, gradientTransform: transform, viewBox: list },
  ...{ gradientUnits: word, spreadMethod: word },
  id: (text) => (/^[\w.-]{1,100}$/.test(text) ? text : undefined),
};
