import { hasObjects, type LayerNode, localName, type MapState } from "../../catalog/state.js";
import { Failure } from "../../errors.js";
import { locale } from "../../features/value-format.js";
import type { SymbolRequest } from "../../hosts/messages.js";
import { StyleTimeout } from "../../style/compiler.js";
import { type Expression, labelColumn } from "../../style/expression.js";
import { parseExpression } from "../../style/expression-parser.js";
import { filterWords, withoutShared } from "../../style/filter-words.js";
import type { CompiledStyle, StyleClasses } from "../../style/model.js";
import { illustrate, type PictureFile, picturesOf, safeColumn } from "../../style/pictures.js";
import { drawnStyles, type SymbolDrawing, shapeOf, symbolRequest } from "../../style/symbol.js";
import { rasterClasses, rasterSymbol } from "../../tiles/raster-legend.js";
import { type Classificator, classificator } from "../../visual/kind.js";
import { kindOf } from "../../visual/kinds.js";
import { lastSymbol, legendSymbols } from "../../visual/legend.js";
import { pluginOf, pluginStyle } from "../../visual/plugins.js";
import { drawsStatistics } from "../../visual/style.js";
import type { Range } from "../../visual/values.js";
import type { Services } from "../services.js";

/** The classes of layers, as legends list them, and their symbols, as the renderer draws them. */

/** The classes of a layer that is drawn by its style. */
export interface StyledClasses {
  readonly classificators: readonly Classificator[];
  /** How many more there are. */
  readonly more: number;
  /** In the same order: the first and the last zoom at which tiles show the class; absent = all. */
  readonly zooms?: readonly (readonly [number, number] | undefined)[];
}

/** A picture to be drawn. */
export interface DrawnSymbol {
  readonly request: SymbolRequest;
  /** Pictures that it shows. */
  readonly pictures: readonly PictureFile[];
  /** Key of the image that it shows. */
  readonly blob?: string;
}

export const noStyle: CompiledStyle = { styles: [], fields: [], bufferPixels: 1 };

/** The style that a layer is drawn by. */
export interface LayerStyle {
  readonly style: CompiledStyle;
  /** Whether its plug-in failed, so that it is empty for now. */
  readonly hasFailed: boolean;
}

/**
 * The compiled style of the layer. A stored style that no longer compiles is empty. Undefined when compiling timed out.
 */
export async function styleOf(
  services: Services,
  map: MapState,
  layer: LayerNode,
): Promise<LayerStyle | undefined> {
  const { deadlineMs } = services.config.style;
  const plugin = pluginOf(layer, services.plugins);
  let sheets = { mapStyle: map.cssStyle, layerStyle: layer.cssStyle };
  if (plugin) {
    const values = await services.visuals.current(layer, map.project);
    if (drawsStatistics(layer) && !values) return undefined;
    const layerStyle = customStyle(services, layer, values?.range ?? null);
    if (layerStyle === undefined) return { style: noStyle, hasFailed: true };
    sheets = { mapStyle: "", layerStyle };
  }
  try {
    const { style } = await services.styles.compile(
      { ...sheets, layerCode: layer.code, deadlineMs },
      { project: map.project.id, stored: true },
    );
    return { style, hasFailed: false };
  } catch (error) {
    if (error instanceof StyleTimeout) return undefined;
    if (error instanceof Failure && error.code === "invalid_style")
      return { style: noStyle, hasFailed: plugin !== undefined };
    throw error;
  }
}

/** What the layer's plug-in draws; undefined where it fails. */
function customStyle(services: Services, layer: LayerNode, range: Range | null): string | undefined {
  try {
    return pluginStyle(layer, services.plugins, range) ?? "";
  } catch (error) {
    services.log.warn({ err: error, layer: layer.code }, "a plug-in for visualizations failed");
    return undefined;
  }
}

/** Whether the layer's style has classes: of layers of objects and of images. */
export const hasStyledClasses = (layer: LayerNode): boolean => hasObjects(layer) || layer.raster !== null;

/** The classes of a layer by its compiled style. @param language of titles and numbers */
export function styledClasses(
  { layer, main }: { readonly layer: LayerNode; readonly main: string },
  style: CompiledStyle,
  language: string,
): StyledClasses {
  return layer.raster ? imageClasses(style, layer.raster) : objectClasses({ layer, main }, style, language);
}

function imageClasses(style: CompiledStyle, raster: NonNullable<LayerNode["raster"]>): StyledClasses {
  const classes = rasterClasses(style, raster);
  if (classes.length === 0) return { classificators: [classificator(null, "#808080", true)], more: 0 };
  return { classificators: classes.map(({ value, color }) => classificator(value, color)), more: 0 };
}

function objectClasses(
  { layer, main }: { readonly layer: LayerNode; readonly main: string },
  style: CompiledStyle,
  language: string,
): StyledClasses {
  const { classes, more } = classesOf(style);
  const columns = new Map(layer.columns.map((column) => [column.code, column]));
  const say = filterWords({
    locale: locale({ own: language, main }),
    titleOf: (code) => {
      const column = columns.get(code);
      return (column && localName(column, language, main)) || code;
    },
  });
  const filters = told(classes);
  return {
    classificators: classes.map((one, at) => {
      const filter = filters[at];
      return classificator(filter && say(filter), one.colors[layer.geometryKind], one.hasPicture);
    }),
    more,
    zooms: classes.map(({ zooms }) => zooms),
  };
}

/** What tells each class from those that are seen at the same zooms; undefined = it has the other objects. */
function told(classes: StyleClasses["classes"]): (Expression | undefined)[] {
  const filters = classes.map(({ filter }) => (filter === undefined ? undefined : parseExpression(filter)));
  const groups = new Map<string, number[]>();
  for (const [at, { zooms }] of classes.entries()) {
    const key = String(zooms);
    groups.set(key, [...(groups.get(key) ?? []), at]);
  }
  for (const group of groups.values()) {
    const all = group.flatMap((at) => filters[at] ?? []);
    if (all.length < 2 || all.length < group.length) continue;
    for (const [place, filter] of withoutShared(all).entries()) filters[group[place]!] = filter;
  }
  return filters;
}

const classesOf = ({ classes }: CompiledStyle): StyleClasses => classes ?? { classes: [], more: 0 };

/** The symbol of a class; "image" = that of a raster layer. Undefined = there is no such class. */
function styledDrawing(
  layer: LayerNode,
  style: CompiledStyle,
  at: number,
): SymbolDrawing | "image" | undefined {
  if (layer.raster) {
    const classes = rasterClasses(style, layer.raster);
    if (classes.length === 0) return at === 0 ? "image" : undefined;
    const fill = classes[at]?.color;
    if (fill === undefined) return undefined;
    const symbolizers = [{ type: "PolygonSymbolizer" as const, attributes: { fill } }];
    return { styles: [{ name: "", attributes: {}, rules: [{ symbolizers }] }], values: {}, shape: "area" };
  }
  const found = classesOf(style).classes[at];
  if (!found) return undefined;
  const styles = drawnStyles(style.styles, found.drawn);
  const values = new Map(found.values);
  const types = new Map(layer.columns.map(({ code, type }) => [code, type]));
  // Of an object with a value in each column, since symbols may show any of them.
  const valueIn = (code: string) => values.get(code) ?? sampleValues[types.get(code) ?? ""] ?? "Abc";
  const known = (codes: readonly string[]) => codes.filter((code) => types.has(code));
  return {
    styles,
    values: Object.fromEntries([
      ...known(style.fields).map((code) => [code, valueIn(code)]),
      ...known(style.labelFields ?? []).map((code) => [labelColumn(code), String(valueIn(code))]),
      ...known(style.pictureFields ?? []).map((code) => [safeColumn(code), String(valueIn(code))]),
    ]),
    shape: shapeOf(styles, layer.geometryKind, found.geometryType),
  };
}

/** By type of column, where a filter asks for none. */
const sampleValues: Readonly<Record<string, number | boolean>> = { number: 12, bool: true };

/**
 * The symbol of the class of that number, from 0 or, where negative, from the end. Undefined = there is no such class;
 * null = what it depends on is not there in time, or its plug-in failed.
 */
export async function classSymbol(
  services: Services,
  { map, layer }: { readonly map: MapState; readonly layer: LayerNode },
  { at, size }: { readonly at: number; readonly size: number },
): Promise<DrawnSymbol | undefined | null> {
  const settings = layer.visualSettings;
  if (settings) {
    // Those of the legend.
    const values = await services.visuals.current(layer, map.project);
    if (drawsStatistics(layer) && !values) return null;
    const pictures = picturesOf(map.project, services.icons);
    const drawings = legendSymbols(layer, settings, values, (name) => pictures.get(name));
    // After those of the classes.
    const drawing = at === drawings.length ? lastSymbol(layer, settings) : drawings.at(at);
    return drawing && illustrated(services, map, drawing, size);
  }
  if (!hasStyledClasses(layer)) return undefined;
  const found = await styleOf(services, map, layer);
  if (!found || found.hasFailed) return null;
  const { style } = found;
  // Of a large style it takes long, and many may ask for each of its classes in each size.
  return services.slices.whole(`p${map.project.id}`, () => {
    const drawing = styledDrawing(layer, style, at);
    return drawing === "image"
      ? imageSymbol(layer, style, size)
      : drawing && illustrated(services, map, drawing, size);
  });
}

/**
 * The symbol that stands for the whole layer: of the objects in no other class, else of its first class, of visualizations of
 * sizes or heat the last; of a raster layer the image. As `classSymbol`.
 */
export async function layerSymbol(
  services: Services,
  { map, layer }: { readonly map: MapState; readonly layer: LayerNode },
  size: number,
): Promise<DrawnSymbol | undefined | null> {
  const kind = layer.visualSettings ? kindOf(layer.visualSettings) : undefined;
  // Of symbols of different sizes the largest.
  const isLast = kind?.legendOfSymbols !== undefined || kind?.lastStandsForLayer === true;
  if (layer.visualSettings || !hasStyledClasses(layer))
    return classSymbol(services, { map, layer }, { at: isLast ? -1 : 0, size });
  const found = await styleOf(services, map, layer);
  if (!found || found.hasFailed) return null;
  const { style } = found;
  if (layer.raster) return imageSymbol(layer, style, size);
  const rest = classesOf(style).classes.findIndex(({ filter }) => filter === undefined);
  return classSymbol(services, { map, layer }, { at: Math.max(0, rest), size });
}

/** A small picture of a raster layer; undefined for other layers. */
function imageSymbol(layer: LayerNode, style: CompiledStyle, size: number): DrawnSymbol | undefined {
  const request = layer.raster ? rasterSymbol(style, layer.raster, size) : undefined;
  return layer.raster && request ? { request, pictures: [], blob: layer.raster.drawn } : undefined;
}

/** Largest factor by which patterns of pixels are enlarged ahead of drawing. */
const maxPatternScale = 4;

function illustrated(services: Services, map: MapState, drawing: SymbolDrawing, size: number): DrawnSymbol {
  const names = drawing.styles.flatMap(({ rules }) =>
    rules.flatMap(({ symbolizers }) => symbolizers.flatMap(({ picture }) => picture ?? [])),
  );
  const pictures = [...new Set(names)].map((name) => ({ name, place: "", patternGrowth: 0 }));
  const scale = Math.min(maxPatternScale, Math.max(1, Math.round(size / 32)));
  // Names of fonts are those in the symbolizers.
  const style = { ...noStyle, styles: drawing.styles, pictures, faces: [] };
  const { style: shown, files } = illustrate(style, picturesOf(map.project, services.icons), scale);
  return { request: symbolRequest({ ...drawing, styles: shown.styles }, size), pictures: files };
}
