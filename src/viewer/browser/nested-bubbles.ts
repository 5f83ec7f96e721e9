import { h, s } from "./dom.js";
import type { Legend } from "./map-server.js";

/** The legend of bubbles and charts: circles or squares in each other that stand on one line, as large as those of the map, with their values. */

const gap = 10;
const lineHeight = 16;
/** Larger ones have no room in the panel. */
const mostPixels = 128;

/**
 * Undefined: the classes have no sizes, are pictures, or are too large.
 * @param title what the sizes tell, if it is not what the classes tell
 */
export function nestedBubbles(
  { classificators }: Legend,
  texts: readonly string[],
  title: string | undefined,
): HTMLElement | undefined {
  const bubbles = classificators
    .flatMap(({ size, fill, rim, isIcon, isSquare }, at) =>
      size === undefined || isIcon ? [] : [{ size, fill, rim, isSquare, text: texts[at] ?? "" }],
    )
    .sort((a, b) => b.size - a.size);
  const most = bubbles[0]?.size ?? 0;
  if (most === 0 || most > mostPixels) return undefined;
  // Texts stand beside the tops of the circles, but not on each other.
  let below = lineHeight / 2 - lineHeight;
  const placed = bubbles.map((bubble) => {
    below = Math.max(below + lineHeight, most - bubble.size + 1, lineHeight / 2);
    return { ...bubble, y: below };
  });
  const height = Math.max(most, below + lineHeight / 2) + 2;
  const [middle, right] = [most / 2 + 1, most + gap];
  const image = s("svg", {
    class: "legend-bubbles",
    width: String(right + 150),
    height: String(height),
    role: "img",
    "aria-label": [...(title ? [title] : []), ...bubbles.map(({ text }) => text).reverse()].join(", "),
  });
  for (const { size, fill, rim = "none", isSquare, text, y } of placed) {
    const top = most - size + 1;
    const label = s("text", { x: String(right + 4), y: String(y), "dominant-baseline": "central" });
    label.textContent = text;
    image.append(
      isSquare
        ? s("rect", {
            ...{ x: String(middle - size / 2), y: String(top) },
            ...{ width: String(size), height: String(size), fill, stroke: rim },
          })
        : s("circle", {
            ...{ cx: String(middle), cy: String(most + 1 - size / 2) },
            ...{ r: String(size / 2), fill, stroke: rim },
          }),
      s("polyline", {
        points: `${isSquare ? middle + size / 2 : middle},${top} ${right - 4},${y} ${right},${y}`,
      }),
      label,
    );
  }
  return h("li", { class: "legend-class" }, image);
}
