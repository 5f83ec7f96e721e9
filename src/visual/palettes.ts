import { z } from "zod";
import { excerpt } from "../errors.js";
import { didYouMean } from "../near-name.js";
import { mostColours, paletteColours } from "./class-colours.js";
import { diverging, sequential } from "./color-brewer.js";

/** Colours of classes by the name of a palette. */

const names = [...Object.keys(sequential), ...Object.keys(diverging)];

const reason = (given: unknown): string => {
  if (typeof given !== "string") return "must be the name of a palette of ColorBrewer, such as YlOrRd";
  const end = didYouMean(given, names, `; those of ColorBrewer are ${names.join(", ")}.`);
  return `must be the name of a palette, and there is no ${excerpt(given)}${end}`;
};

export const paletteSchema = z.enum(names, { error: ({ input }) => reason(input) }).optional();

/** Whether the palette is for values on both sides of a middle. */
export const isDiverging = (palette: unknown): boolean => Object.hasOwn(diverging, String(palette));

/** The first, the middle and the last colour of a palette. */
export function paletteEnds(palette: unknown): readonly [string, string, string] | undefined {
  const colours = paletteColours(palette, mostColours);
  return colours && [colours[0]!, colours[(mostColours - 1) / 2]!, colours[mostColours - 1]!];
}
