import { FontRefusal } from "./sfnt.js";

/** How far glyphs reach. Each is drawn as an image of its own, so that those of a hostile font could take all memory. */

/** In units of the font, from its origin; empty while `right` is less than `left`. */
export interface Extent {
  left: number;
  bottom: number;
  right: number;
  top: number;
}

export const emptyExtent = (): Extent => ({
  left: Number.POSITIVE_INFINITY,
  bottom: Number.POSITIVE_INFINITY,
  right: Number.NEGATIVE_INFINITY,
  top: Number.NEGATIVE_INFINITY,
});

export function extend(extent: Extent, x: number, y: number): void {
  if (x < extent.left) extent.left = x;
  if (x > extent.right) extent.right = x;
  if (y < extent.bottom) extent.bottom = y;
  if (y > extent.top) extent.top = y;
}

/** The widest ligatures of real fonts take some 18 em. */
const maxSide = 20;
const maxArea = 64;

/** @throws FontRefusal when a glyph is too large. @param unitsPerEm size of the font in its units */
export function checkExtent({ left, bottom, right, top }: Extent, unitsPerEm: number): void {
  if (right < left) return;
  const width = (right - left) / unitsPerEm;
  const height = (top - bottom) / unitsPerEm;
  const far = Math.max(-left, right, -bottom, top) / unitsPerEm;
  if (!(far <= maxSide && width * height <= maxArea))
    throw new FontRefusal("One of its glyphs is too large.");
}
