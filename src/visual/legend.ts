import { type LayerNode, localName, type StoredSettings } from "../catalog/state.js";
import type { SymbolDrawing } from "../style/symbol.js";
import { sizeSymbols } from "./chart-sizes.js";
import type { Plain, Settings } from "./columns.js";
import type { ClassSymbol, FindPicture } from "./drawing.js";
import type { Classificator } from "./kind.js";
import { kindOf } from "./kinds.js";
import { shownVisual } from "./settings.js";
import { noValues, type VisualValues } from "./values.js";

const drawingOf = ({ symbolizers, ...rest }: ClassSymbol): SymbolDrawing => ({
  styles: [{ name: "symbol", attributes: {}, rules: [{ symbolizers }] }],
  values: {},
  ...rest,
});

/** What draws the symbol of the item after the classes; undefined = the kind has none. */
export function lastSymbol(layer: LayerNode, settings: StoredSettings): SymbolDrawing | undefined {
  const classes = settings.classesSettings as Settings;
  const symbol = kindOf(settings).lastSymbol?.({ layer, settings, classes });
  return symbol && drawingOf(symbol);
}

/** What draws the symbols of the classes, in the legend's order, and on which shape. @param settings of the layer, or others */
export function legendSymbols(
  layer: LayerNode,
  stored: StoredSettings,
  values: VisualValues | undefined,
  findPicture: FindPicture,
): readonly SymbolDrawing[] {
  const kind = kindOf(stored);
  const classes = stored.classesSettings as Settings;
  const visualization = { layer, settings: stored, classes, findPicture, values: values ?? noValues };
  if (kind.symbols) return kind.symbols(visualization).map(drawingOf);
  const shown = shownVisual(layer, stored, values).classesSettings as Settings;
  const areas = kind
    .legend(layer, shown, ({ name }) => name)
    .map(({ fill }): ClassSymbol => {
      const attributes = { fill: String(fill), "fill-opacity": String(classes.opacity ?? 1) };
      return { symbolizers: [{ type: "PolygonSymbolizer", attributes }], shape: "area" };
    });
  return [...areas, ...sizeSymbols(kind.sizes?.(visualization) ?? [])].map(drawingOf);
}

/**
 * The contract's legend of a layer's visualization. `minValue` is the lower border of the first class.
 * @param extended whether items are told apart by their symbols, not by their colours only
 */
export function legendOf(
  layer: LayerNode,
  {
    settings: stored,
    values,
  }: { readonly settings: StoredSettings; readonly values: VisualValues | undefined },
  {
    language,
    main,
    extended,
  }: { readonly language: string; readonly main: string; readonly extended: boolean },
): Plain & {
  readonly name: string;
  readonly minValue: unknown;
  readonly classificators: readonly Classificator[];
} {
  const settings = shownVisual(layer, stored, values);
  const kind = kindOf(stored);
  const classes = settings.classesSettings as Settings;
  const names = Object.assign({}, ...(settings.legendNames as Plain[])) as Record<string, string>;
  const localized = Object.keys(names).length > 0;
  // Clients of the contract expect a value of each class.
  const last = extended ? kind.lastItem?.(classes) : undefined;
  const sizes = extended ? kind.sizes?.({ layer, classes, values: values ?? noValues }) : undefined;
  const name = { name: settings.legendName as string, localized, names };
  return {
    name: localName(name, language, main),
    column: settings.columnCode,
    showValues: settings.showValues,
    showLegend: settings.showLegend,
    minValue: values?.min ?? null,
    maxValue: values?.max ?? null,
    type: settings.type,
    classificators: [
      ...((extended ? kind.legendOfSymbols?.(classes, settings) : undefined) ??
        kind.legend(layer, classes, (column) => localName(column, language, main))),
      ...(sizes ?? []),
      ...(last ? [last] : []),
    ],
  };
}
