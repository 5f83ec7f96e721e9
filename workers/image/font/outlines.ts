import { Blob, DrawFuncs, Face, Font } from "harfbuzzjs";
import { damaged, FontRefusal } from "./sfnt.js";

/** Outlines of fonts as HarfBuzz draws them, with bounds: those of a hostile font could take all memory, or a long time. */

/** A step of an outline: where a contour begins (`isMove`), or goes on to, straight (x, y) or in a curve (three points). */
export interface Step {
  readonly isMove: boolean;
  readonly to: readonly number[];
}

/** FreeType counts the points of a glyph in 16 bits. */
const maxPoints = 32_000;
const maxPointsOfAll = 2_000_000;
/** Programs of glyphs can do without points what takes long. */
const maxMs = 5_000;
/** Each glyph is drawn as an image. In em: the widest ligatures of real fonts take some 18. */
const maxSide = 20;
const maxArea = 64;

class Outline {
  readonly steps: Step[] = [];
  points = 0;

  add(isMove: boolean, to: readonly number[]): void {
    this.points += to.length / 2;
    // Nothing is thrown in here: it would leave HarfBuzz in the middle of its work.
    if (this.points <= maxPoints) this.steps.push({ isMove, to });
  }

  /** @throws FontRefusal when the glyph is too large */
  check(unitsPerEm: number): void {
    let [left, bottom, right, top] = [0, 0, 0, 0];
    for (const { to } of this.steps) {
      for (let at = 0; at < to.length; at += 2) {
        left = Math.min(left, to[at]!);
        right = Math.max(right, to[at]!);
        bottom = Math.min(bottom, to[at + 1]!);
        top = Math.max(top, to[at + 1]!);
      }
    }
    const [width, height] = [(right - left) / unitsPerEm, (top - bottom) / unitsPerEm];
    if (!(Math.max(width, height) <= maxSide && width * height <= maxArea))
      throw new FontRefusal("One of its glyphs is too large.");
  }
}

const drawing = new DrawFuncs();
drawing.setMoveToFunc((x, y, outline) => (outline as Outline).add(true, [x, y]));
drawing.setLineToFunc((x, y, outline) => (outline as Outline).add(false, [x, y]));
drawing.setQuadraticToFunc((ax, ay, x, y, outline) => (outline as Outline).add(false, [ax, ay, x, y]));
drawing.setCubicToFunc((ax, ay, bx, by, x, y, outline) =>
  (outline as Outline).add(false, [ax, ay, bx, by, x, y]),
);

/** Of each glyph of the font, whose outlines are in `table`. @throws FontRefusal */
export function* outlines(font: Buffer, glyphs: number, table: string): Generator<readonly Step[]> {
  const face = new Face(new Blob(font));
  const drawn = new Font(face);
  let left = maxPointsOfAll;
  const deadline = performance.now() + maxMs;
  for (let glyph = 0; glyph < glyphs; glyph++) {
    const outline = new Outline();
    if (!drawn.drawGlyphOrFail(glyph, drawing, outline)) throw damaged(table);
    left -= outline.points;
    if (outline.points > maxPoints || left < 0 || performance.now() > deadline)
      throw new FontRefusal("Its glyphs take too long to draw.");
    outline.check(face.upem);
    yield outline.steps;
  }
}
