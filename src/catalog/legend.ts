import { type LayerNode, localName, type StoredSettings } from "./state.js";
import type { VisualValues } from "./visual-values.js";
import { shownVisual } from "./visualization.js";

/** Legends of visualizations. */

/** An item of the legend: how one group of objects is shown. */
interface Classificator {
  readonly value: unknown;
  /** A colour. */
  readonly fill: unknown;
  readonly isIcon: boolean;
}

type Plain = Record<string, unknown>;

/**
 * The contract's legend of a layer's visualization. Type 1 has an item for each class, with its upper border as value;
 * `minValue` is the lower border of the first. Type 2 has an item for each class that is shown, and one without a value
 * for other objects, if any. The other types have an item for each colour.
 */
export function legendOf(
  layer: LayerNode,
  {
    settings: stored,
    values,
  }: { readonly settings: StoredSettings; readonly values: VisualValues | undefined },
  { language, main }: { readonly language: string; readonly main: string },
): Plain {
  const settings = shownVisual(layer, stored, values);
  const names = Object.assign({}, ...(settings.legendNames as Plain[])) as Record<string, string>;
  const localized = Object.keys(names).length > 0;
  const name = { name: settings.legendName as string, localized, names };
  return {
    name: localName(name, language, main),
    column: settings.columnCode,
    showValues: settings.showValues,
    showLegend: settings.showLegend,
    minValue: values?.min ?? null,
    maxValue: values?.max ?? null,
    type: settings.type,
    classificators: classificators(layer, settings, (column) => localName(column, language, main)),
  };
}

function classificators(
  layer: LayerNode,
  settings: Plain,
  nameOf: (column: LayerNode["columns"][number]) => string,
): Classificator[] {
  const classes = settings.classesSettings as Plain;
  switch (settings.type) {
    case 1: {
      const ends = ((classes.borders ?? []) as unknown[]).slice(1);
      const colours = [classes.minColor, classes.midColor, classes.maxColor] as [string, string, string];
      return ends.map((end, at) => item(end, classColour(colours, at, ends.length)));
    }
    case 2: {
      const others = classes.defaultClass as Plain;
      const shown = (classes.classes as Plain[]).filter(({ checked }) => checked);
      if (others.checked && Number(others.count) > 0) shown.push({ ...others, value: null });
      return shown.map(({ value, color, useIcon }) => item(value, color, useIcon));
    }
    case 3:
      return [item(null, classes.color, classes.useIcon)];
    case 7:
      return (classes.colors as unknown[]).map((colour) => item(null, colour));
    default:
      return (classes.columns as Plain[]).map(({ id, code, color, label }) => {
        const column = layer.columns.find((one) => one.id === id);
        return item(label || (column && nameOf(column)) || code, color);
      });
  }
}

const item = (value: unknown, fill: unknown, isIcon: unknown = false): Classificator => ({
  value: value ?? null,
  fill,
  isIcon: isIcon === true,
});

/**
 * Colour of a class by linear interpolation in RGB between three colours; a single class has the second. All are #RRGGBB.
 */
export function classColour(
  [first, middle, last]: readonly [string, string, string],
  at: number,
  classes: number,
): string {
  const position = classes > 1 ? (2 * at) / (classes - 1) : 1;
  const [from, to, part] = position <= 1 ? [first, middle, position] : [middle, last, position - 1];
  const channel = (colour: string, i: number) => Number.parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(channel(from, i) * (1 - part) + channel(to, i) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
