import { type LayerNode, localName, type StoredSettings } from "../catalog/state.js";
import type { Plain, Settings } from "./columns.js";
import { kindOf } from "./kinds.js";
import { shownVisual } from "./settings.js";
import type { VisualValues } from "./values.js";

/** The contract's legend of a layer's visualization. `minValue` is the lower border of the first class. */
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
    classificators: kindOf(stored).legend(layer, settings.classesSettings as Settings, (column) =>
      localName(column, language, main),
    ),
  };
}
