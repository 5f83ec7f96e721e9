/** What is dark, and shades of fills that texts and rims have. */

interface Ground {
  /** As `#RRGGBB`. */
  readonly color: string;
  readonly opacity?: number;
}

/** Colours of texts on dark and on light ground. */
export const [onDark, onLight] = ["#ffffff", "#222222"] as const;

/** Red, green and blue, each to 255, as it looks over white. */
function channels({ color, opacity = 1 }: Ground): number[] {
  const values = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return values.map((value) => opacity * value + (1 - opacity) * 255);
}

/** From 0, of black, to 1. */
function luminance(ground: Ground): number {
  const [red = 0, green = 0, blue = 0] = channels(ground).map((value) => (value / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Whether light texts are read more easily on it. */
export const isDark = (ground: Ground): boolean => luminance(ground) < 0.3;

function mixed(ground: Ground, other: number, part: number): string {
  const values = channels(ground).map((value) => Math.round(value * (1 - part) + other * part));
  return `#${values.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

export const darker = (ground: Ground): string => mixed(ground, 0, 0.4);
export const lighter = (ground: Ground): string => mixed(ground, 255, 0.7);

/** The colour of an edge that parts one fill from another of the same colour, and belongs to it. */
export const edgeOf = (color: string): string =>
  isDark({ color }) ? mixed({ color }, 255, 0.6) : darker({ color });
