import type { VisualPlugin } from "../plugin.js";

/**
 * Arrows, as for wind, currents or flights: a column has their direction in degrees clockwise from north, another may have a
 * strength, which makes them larger and darker in five classes of equal width.
 *
 * Settings: `direction` (UUID of a column of numbers), `strength` (such a UUID), `from` (whether the direction is that from
 * which it comes, as of wind; default true), `sizeMin` and `sizeMax` (pixels; default 14 and 30), `colors` (five; default
 * from light to dark blue).
 */

/** ColorBrewer's five blues without the lightest. */
const blues = ["#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#084594"];
const classes = 5;

const isSize = (value: unknown): value is number => typeof value === "number" && value >= 4 && value <= 128;

export const arrows: VisualPlugin = {
  name: "arrows",
  read: (given, columns) => {
    const { direction, strength, from = true, sizeMin = 14, sizeMax = 30, colors = blues } = given;
    for (const [name, uuid] of Object.entries({ direction, strength })) {
      if (name === "strength" && uuid === undefined) continue;
      if (typeof uuid !== "string" || columns.get(uuid)?.type !== "number")
        throw new Error(`"${name}" must be the UUID of a column of numbers.`);
    }
    if (typeof from !== "boolean") throw new Error('"from" must be true or false.');
    if (!isSize(sizeMin) || !isSize(sizeMax)) throw new Error("Sizes must be numbers from 4 to 128.");
    const isColour = (one: unknown) => typeof one === "string" && /^#[0-9a-f]{6}$/i.test(one);
    if (!Array.isArray(colors) || colors.length !== classes || !colors.every(isColour))
      throw new Error('"colors" must be five colours such as #2171b5.');
    return { direction, ...(strength !== undefined && { strength }), from, sizeMin, sizeMax, colors };
  },
  scaledBy: ({ strength }) => strength as string | undefined,
  style: (settings, columns, range) => {
    const { from, sizeMin, sizeMax } = settings as { from: boolean; sizeMin: number; sizeMax: number };
    const colors = settings.colors as readonly string[];
    const direction = columns.get(String(settings.direction));
    if (!direction) throw new Error("The column of the direction is gone.");
    const strength = columns.get(String(settings.strength));
    const turn = `rotate([${direction.code}]${from ? " + 180" : ""})`;
    const look = (at: number) => {
      const size = sizeMin + ((sizeMax - sizeMin) * at) / (classes - 1);
      return `marker-fill: ${colors[at]}; marker-transform: "${turn} scale(${(size / iconSide).toFixed(4)})";`;
    };
    const common = "marker-file: url(icon:arrow); marker-allow-overlap: true; marker-line-width: 0;";
    if (!strength || !range)
      return `#layer[${direction.code} != null] { ${common} ${look(strength ? 0 : classes - 1)} }`;
    const [least, most] = range;
    const rules = Array.from({ length: classes - 1 }, (_, index) => {
      const border = least + ((most - least) * (index + 1)) / classes;
      return `[${strength.code} >= ${Number(border.toPrecision(6))}] { ${look(index + 1)} }`;
    });
    return `#layer[${direction.code} != null] { ${common} ${look(0)} ${rules.join(" ")} }`;
  },
};

/** Of the picture icon:arrow, in pixels. */
const iconSide = 16;
