/** What each property of CartoCSS does, in words. A name of its own counts before what its ending says. */

const picture = "A [picture of the project](api-styles.md#upload-a-picture): PNG, WebP or SVG.";
const alongLine =
  "How far it is moved off its line, in pixels: to the left in the line's direction, if negative to the right.";
const transform =
  "Turns, scales or moves it: `rotate(45)`, `scale(2, 2)`, `translate(0, -8)`, one after the other.";

const byName: Readonly<Record<string, string>> = {
  "line-color": "The colour.",
  "line-width": "How wide the line is, in pixels.",
  "line-offset": alongLine,
  "line-dash-offset": "No effect: dashes begin where the line begins.",
  "line-rasterizer": "`fast` draws quicker and less exactly.",
  "marker-file": `${picture} Without one it is an ellipse.`,
  "marker-opacity":
    "Of the whole marker. If it is set, `marker-fill-opacity` and `marker-line-opacity` do not count.",
  "marker-fill": "The colour inside. It colours the shapes of an SVG, too.",
  "marker-fill-opacity": "Of the inside.",
  "marker-line-color": "The colour of the outline, of the shapes of an SVG, too.",
  "marker-line-width": "How wide the outline is, in pixels. Half of it lies inside.",
  "marker-line-opacity": "Of the outline.",
  "marker-placement":
    "Where it stands: `point` in the middle, `interior` surely inside of an area, `line` again and again along a line, `vertex-first` and `vertex-last` at its ends.",
  "marker-multi-policy":
    "Of an object with several parts: `each` part has a marker, the `whole` has one in its middle, or only the `largest` part has one. Not along lines.",
  "marker-type": "What is drawn without `marker-file`. `ellipse` is a circle if width and height are equal.",
  "marker-width": "In pixels. If only one of width and height is set, the proportions stay.",
  "marker-height": "In pixels.",
  "marker-allow-overlap":
    "Whether it is drawn over others, too. Otherwise it is left out where one stands already.",
  "marker-avoid-edges": "Whether those that meet the edge of a tile are left out.",
  "marker-ignore-placement": "Whether others may be drawn over it.",
  "marker-spacing": "From one marker to the next along a line, in pixels.",
  "marker-max-error": "How exactly the spacing along a line is kept. Leave it as it is.",
  "marker-offset": alongLine,
  "marker-direction":
    "How it is turned along lines: `right` follows the line, `left` is the other way round, `auto` turns it so that it is not upside down, `auto-down` the reverse. The two with `-only` leave out what would be upside down. `up` and `down` do not follow the line.",
  "text-transform": "Other letters: `uppercase` AB, `lowercase` ab, `capitalize` Ab, `reverse` from the end.",
  "text-halo-transform": `Of the halo against the text, for a shadow. ${transform}`,
  "text-ratio": "How long lines are for their number when a text is wrapped: with more, lines become longer.",
  "text-repeat-wrap-character":
    "Whether the character that a line is wrapped at is kept, and begins the next one.",
  "text-max-char-angle-delta":
    "How sharply a label along a line may bend from letter to letter, in degrees. With more, more labels fit around corners.",
  "text-dx": "How far it is moved to the right, in pixels. No effect along lines.",
  "text-dy": "How far it is moved down, in pixels; along lines off the line.",
  "text-min-path-length": "Only lines and areas that are longer or wider than this have labels, in pixels.",
  "text-orientation": "By how many degrees it is turned. Not along lines.",
  "text-rotate-displacement": "Whether `text-dx` and `text-dy` are turned with it.",
  "text-upright":
    "What happens to labels along lines that are upside down: `auto` turns them round, `left` and `right` leave them as they are, the two with `-only` leave them out, `auto-down` turns those that are not.",
  "text-align": "Where the lines of a wrapped text begin.",
  "text-font-feature-settings": "Features of an OpenType font, with commas between.",
  "text-largest-bbox-only": "Whether only the largest part of an object with several areas has a label.",
  "text-min-distance":
    "To the next label with the same text along a line, in pixels. Better take `text-repeat-distance`.",
  "shield-min-distance": "To anything else, in pixels. Better take `shield-margin`.",
  "shield-file": `${picture} It lies behind the text.`,
  "shield-text-transform":
    "Other letters: `uppercase` AB, `lowercase` ab, `capitalize` Ab, `reverse` from the end.",
  "shield-unlock-image": "Whether the text stands beside the picture instead of on it.",
  "shield-text-dx": "How far the text is moved to the right on its picture, in pixels.",
  "shield-text-dy": "How far the text is moved down on its picture, in pixels.",
  "shield-dx": "How far picture and text are moved to the right, in pixels.",
  "shield-dy": "How far picture and text are moved down, in pixels.",
  "shield-opacity": "Of the picture.",
  "shield-text-opacity": "Of the text.",
  "shield-justify-alignment": "Where the lines of a wrapped text begin.",
  "shield-transform": `Of the picture. ${transform}`,
  "line-pattern-type":
    "`warp` bends the picture along the line. `repeat` fills the line with it, as wide as `line-pattern-width`.",
  "line-pattern-width": "How wide a line of the type `repeat` is, in pixels.",
  "line-pattern-offset": alongLine,
  "point-allow-overlap":
    "Whether it is drawn over others, too. Otherwise it is left out where one stands already.",
  "point-ignore-placement": "Whether others may be drawn over it.",
  "point-placement": "Where it stands on an area: in its middle, or surely inside of it.",
  "building-fill": "The colour of roofs; walls are darker.",
  "building-fill-opacity": "Of roofs and walls.",
  "building-height": "How high it looks, in pixels.",
  "raster-filter-factor":
    "How many pixels of the image are read for one that is drawn. `-1` lets the server choose.",
  "raster-scaling":
    "How the image is fitted to the map: `near` is quickest and has hard edges, `bilinear` is smooth, `lanczos` the finest.",
  "raster-mesh-size":
    "How coarsely the image is bent into the map's projection: with more, quicker and less exactly.",
  "raster-colorizer-default-mode":
    "How values between two stops are coloured: `linear` between their colours, `discrete` as the lower one, `exact` only values that are one of the stops.",
  "raster-colorizer-default-color": "The colour of values outside of the stops.",
  "raster-colorizer-epsilon": "How far a value may be from a stop with `exact`.",
  "raster-colorizer-stops": "Colours of the values of an image of numbers, from the smallest on.",
  "dot-fill": "The colour.",
  "dot-width": "In pixels.",
  "dot-height": "In pixels.",
  "debug-mode":
    "Draws the room that labels and markers take (`collision`), or the corners of shapes (`vertex`).",
  "image-filters": "Changes the picture of this layer or attachment before it is laid upon the map.",
  "image-filters-inflate": "Whether a blur goes on over the edge of a tile without a seam.",
  "direct-image-filters": "Changes the map as it is so far, with all that lies below.",
  opacity: "Of the layer or attachment as a whole: what overlaps in it does not show through.",
  "background-color": "The colour below all layers.",
  "buffer-size": "The server computes it.",
  "font-directory": "Fonts are those of the server and of the project.",
};

const byEnding: readonly (readonly [ending: RegExp, words: string])[] = [
  [/comp-op$/, "How its colours are mixed with those that are drawn below it."],
  [/-opacity$/, "0 is not to be seen, 1 covers all below it."],
  [/-file$/, picture],
  [/^(polygon|text|shield)-fill$/, "The colour."],
  [
    /-clip$/,
    "Whether shapes are cut at the edge of the tile first. That is faster for very large ones, and seldom seen.",
  ],
  [/-simplify$/, "Leaves out details of shapes that are smaller than so many pixels."],
  [/-simplify-algorithm$/, "How details are left out."],
  [/-smooth$/, "Rounds the corners of shapes: 0 not at all, 1 fully."],
  [/-gamma$/, "How soft edges are: 1 as usual, 0 hard."],
  [/-gamma-method$/, "By which rule the gamma softens the edges."],
  [/-geometry-transform$/, "Moves, turns or scales the shape before it is drawn."],
  [/-transform$/, transform],
  [/-dasharray$/, "Lengths of dashes and gaps in turn."],
  [/-join$/, "How corners look: pointed, pointed with a cut, round, or cut off."],
  [/-cap$/, "How ends look: cut off, round, or longer by half the width."],
  [/-miterlimit$/, "How far a pointed corner may reach, in widths of the line; longer ones are cut off."],
  [
    /-pattern-alignment$/,
    "Whether pictures begin at the same place everywhere (`global`), or anew in each shape (`local`).",
  ],
  [/-name$/, "What is written: the value of a column in brackets, text in quotes, or both."],
  [/-face-name$/, "Font and style."],
  [/-size$/, "How large letters are, in pixels."],
  [
    /-placement$/,
    "Where it stands: `point` in the middle, `interior` surely inside of an area, `line` along a line, `vertex` at each corner.",
  ],
  [/-placement-type$/, "`simple` tries the places of `placements` when there is no room. `dummy` does not."],
  [/-placements$/, 'Places to try, by the points of the compass, and sizes after them: `"N,S,E,W,10,8"`.'],
  [/-avoid-edges$/, "Whether those that meet the edge of a tile are left out."],
  [
    /-allow-overlap$/,
    "Whether it is written over others, too. Otherwise it is left out where there is no room.",
  ],
  [/-margin$/, "How much room there is to anything else at least, in pixels."],
  [/-repeat-distance$/, "How far the next one with the same text is at least, in pixels."],
  [/-min-padding$/, "How far it is from the edge of a tile at least, in pixels."],
  [/-spacing$/, "From one to the next along a line, in pixels. 0 writes one for each line."],
  [/-label-position-tolerance$/, "How far it may be moved along its line to find room, in pixels."],
  [/-wrap-width$/, "Texts that are longer than this are wrapped, in pixels. 0 wraps none."],
  [/-wrap-before$/, "Whether the word that would pass the width begins the next line."],
  [/-wrap-character$/, "Where a text may be wrapped."],
  [/-halo-fill$/, "The colour of the halo, the edge around letters."],
  [/-halo-radius$/, "How wide the halo is, in pixels. 0 is none."],
  [/-halo-rasterizer$/, "`fast` draws the halo quicker and less finely."],
  [/-character-spacing$/, "More room between letters, in pixels."],
  [/-line-spacing$/, "More room between lines, in pixels."],
  [/-horizontal-alignment$/, "On which side of its point it stands. `adjust` stretches it along its line."],
  [/-vertical-alignment$/, "Whether it stands above its point, on it, or below."],
  [/-offset$/, alongLine],
];

/** @throws Error when there are no words for it */
export function wordsOf(property: string): string {
  const ending = () =>
    byEnding
      .filter(([one]) => one.test(property))
      // The longest ending is the closest: `-face-name` before `-name`.
      .sort(([one], [other]) => other.source.length - one.source.length)[0]?.[1];
  const words = byName[property] ?? ending();
  if (words === undefined) throw new Error(`A property of CartoCSS that nothing is told of: ${property}`);
  return words;
}
