import { diverging, sequential } from "./color-brewer.js";

/** Colours of classes, by a palette or between three colours. Depends on no settings and no database: the console shows them too. */

/** `classesSettings`, or a part of it. */
type Classes = Readonly<Record<string, unknown>>;

/** Of classes for which nothing else is said. */
export const commonColours = { minColor: "#a1dab4", midColor: "#41b6c4", maxColor: "#253494" };

const palettes = new Map<unknown, readonly string[]>(Object.entries({ ...sequential, ...diverging }));

/** Of the colours that a palette has. */
const fewestColours = 3;
export const mostColours = 9;

/** The colours, as #RRGGBB, of the palette for the number of classes that is nearest to this one; undefined = there is none. */
export function paletteColours(palette: unknown, classes: number): readonly string[] | undefined {
  const sizes = palettes.get(palette);
  return sizes
    ?.at(Math.min(mostColours, Math.max(fewestColours, classes)) - fewestColours)
    ?.split(" ")
    .map((each) => `#${each}`);
}

const coloursOf = ({ palette, minColor, midColor, maxColor }: Classes, count: number) =>
  paletteColours(palette, count) ?? ([minColor, midColor, maxColor] as string[]);

/**
 * Colour of a class by its borders.
 * @param classes `classesSettings`
 * @param borders one more than there are classes
 */
export function colourOf(classes: Classes, borders: readonly unknown[], at: number): string {
  const count = borders.length - 1;
  const zero = classes.diverging === true ? borders.indexOf(0, 1) : -1;
  const below = zero < 0 || zero === count ? 0 : zero;
  if (below === 0) return classColour(coloursOf(classes, count), at, count);
  // As far from the middle colour as the class is from 0, alike on both sides.
  const most = Math.max(below, count - below);
  const distance = at < below ? at - below : at - below + 1;
  return classColour(coloursOf(classes, 2 * most + 1), most + distance, 2 * most + 1);
}

/**
 * Colour of a class by linear interpolation in RGB between colours at even distances; a single
 * class has the middle one. All are #RRGGBB.
 */
export function classColour(colours: readonly string[], at: number, classes: number): string {
  const last = colours.length - 1;
  const position = classes > 1 ? (last * at) / (classes - 1) : last / 2;
  const from = Math.floor(position);
  const part = position - from;
  const channel = (colour: string, i: number) => Number.parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const [low, high] = [colours[from]!, colours[Math.min(last, from + 1)]!];
  const mixed = [0, 1, 2].map((i) => Math.round(channel(low, i) * (1 - part) + channel(high, i) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
