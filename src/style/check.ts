import { onceForEach } from "../once.js";
import { type AllowedProperties, allowedMap, allowedStyle, allowedSymbolizers } from "./allowed.js";
import { bufferPixelsOf, transformBuffer } from "./buffer-size.js";
import { collectFields, printExpression } from "./expression.js";
import { parseExpression } from "./expression-parser.js";
import { faceFor, foreignFaces, installedFace } from "./fonts.js";
import { StyleError } from "./lexer.js";
import type {
  CompiledStyle,
  FaceUse,
  MapProperties,
  PictureUse,
  RasterStop,
  Rule,
  Style,
  Symbolizer,
  SymbolizerType,
} from "./model.js";
import { withOwnOpacity } from "./opacity.js";
import { columnsIn } from "./picture-path.js";
import { withoutRedundant } from "./redundant-rules.js";
import { checkLabel, ValueError } from "./scalars.js";
import { checkValue } from "./values.js";

/** An element of a Mapnik map as the compiler of CartoCSS made it; it is not trusted. */
export interface Element {
  readonly _name?: string | undefined;
  readonly _attributes?: Readonly<Record<string, unknown>> | undefined;
  readonly _content?: unknown;
}

/** A property whose value is refused. The caller finds its line by its name. */
export class PropertyError extends StyleError {
  constructor(
    readonly property: string,
    message: string,
    /** The refused value, if it is known. */
    readonly value?: string,
  ) {
    super(message);
    this.name = "PropertyError";
  }
}

/** Of one layer. Mapnik tries the filters of those of a zoom on every object. */
const maxRules = 20_000;
const maxNamesWithColumns = 50;
/** Of which it is told that there are no fonts. */
const maxFaceUses = 50;

/** Characters of a layer's filters, texts and attributes together, which Mapnik parses when it loads a map. */
const maxTextLength = 4_000_000;

export interface CheckedMap {
  readonly style: CompiledStyle;
  readonly map: MapProperties;
}

/**
 * Checks every element and value of the compiler's map against the allow-list. Anything else is refused.
 * @throws StyleError (PropertyError where a property is at fault)
 */
export function checkMap(map: Element): CheckedMap {
  return new Checker().map(map);
}

class Checker {
  private readonly fields = new Set<string>();
  private readonly fontSets = new Map<string, readonly string[]>();
  private readonly pictures = new Map<string, PictureUse>();
  /** Those of them that hold columns. */
  private readonly names = new Set<string>();
  /** By their names. */
  private readonly faces = new Map<string, FaceUse>();
  private readonly pictureFields = new Set<string>();
  private readonly labelFields = new Set<string>();
  private rules = 0;

  map(map: Element): CheckedMap {
    if (map._name !== "Map") throw unexpected(map);
    const background = this.attributes(map, "Map", allowedMap)["background-color"];
    const styles = new Map<string, Style>();
    const order: string[] = [];
    for (const child of elements(map._content)) {
      if (child._name === "FontSet") this.fontSet(child);
      else if (child._name === "Style") {
        styles.set(text(child._attributes?.name), this.style(child));
      } else if (child._name === "Layer") order.push(...elements(child._content).map(styleName));
      else throw unexpected(child);
    }
    const ordered = order.map((name) => styles.get(name)).filter((style) => style !== undefined);
    if (ordered.length !== styles.size) throw new StyleError("The style cannot be compiled.");
    const drawn = ordered.filter((style) => style.rules.length > 0);
    if (textLength(drawn) > maxTextLength)
      throw new StyleError("The style is too complicated: its rules are too long.");
    return {
      style: {
        styles: drawn,
        fields: [...this.fields].sort(),
        bufferPixels: bufferPixelsOf(drawn),
        ...(this.pictures.size > 0 && { pictures: [...this.pictures.values()] }),
        ...(this.faces.size > 0 && { faces: [...this.faces.values()] }),
        ...(this.pictureFields.size > 0 && { pictureFields: [...this.pictureFields].sort() }),
        ...(this.labelFields.size > 0 && { labelFields: [...this.labelFields].sort() }),
      },
      map: background === undefined ? {} : { backgroundColor: background },
    };
  }

  private fontSet(element: Element): void {
    const names = elements(element._content).map((font) => text(font._attributes?.["face-name"]));
    this.fontSets.set(text(element._attributes?.name), names);
  }

  private style(element: Element): Style {
    const { name, "filter-mode": mode, ...rest } = element._attributes ?? {};
    if (mode !== "first") throw unexpected(element);
    return {
      name: attachment(text(name)),
      attributes: {
        "filter-mode": "first",
        ...this.attributes({ _attributes: rest }, "Style", allowedStyle),
      },
      rules: withoutRedundant(elements(element._content).map((rule) => this.rule(rule))),
    };
  }

  private rule(element: Element): Rule {
    if (element._name !== "Rule") throw unexpected(element);
    if (++this.rules > maxRules) {
      throw new StyleError(
        `The style is too complicated: its filters combine to more than ${maxRules} rules.`,
      );
    }
    let filter: string | undefined;
    let min: number | undefined;
    let max: number | undefined;
    const symbolizers: Symbolizer[] = [];
    for (const child of elements(element._content)) {
      switch (child._name) {
        case "Filter":
          filter = this.filter(text(child._content));
          break;
        case "MinScaleDenominator":
          min = scaleDenominator(child);
          break;
        case "MaxScaleDenominator":
          max = scaleDenominator(child);
          break;
        default: {
          const symbolizer = this.symbolizer(child);
          if (symbolizer) symbolizers.push(symbolizer);
        }
      }
    }
    return {
      ...(filter !== undefined && { filter }),
      ...(min !== undefined && { minScaleDenominator: min }),
      ...(max !== undefined && { maxScaleDenominator: max }),
      symbolizers,
    };
  }

  private filter(source: string): string {
    try {
      const expression = parseExpression(source);
      collectFields(expression, this.fields);
      return printExpression(expression);
    } catch (error) {
      if (error instanceof StyleError) throw new StyleError(`A filter is not valid. ${error.message}`);
      throw error;
    }
  }

  /** Undefined when it would draw nothing. */
  private symbolizer(element: Element): Symbolizer | undefined {
    const type = element._name ?? "";
    if (!isSymbolizerType(type)) throw unexpected(element);
    const { "fontset-name": fontSet, "face-name": face, ...rest } = element._attributes ?? {};
    const { file, ...attributes } = this.attributes({ _attributes: rest }, type, allowedSymbolizers[type]);
    const shown = file === undefined ? {} : this.picture(type, file, attributes);
    checkSpacing(type, attributes);
    switch (type) {
      case "TextSymbolizer":
      case "ShieldSymbolizer": {
        const label = this.label(type, text(element._content));
        if (label === undefined || (type === "ShieldSymbolizer" && file === undefined)) return undefined;
        const names = fontSet === undefined ? [text(face)] : (this.fontSets.get(text(fontSet)) ?? []);
        return {
          type,
          attributes: { ...withPlacements(attributes), "face-name": faceFor(names) },
          ...this.foreign(names),
          text: label,
          ...shown,
        };
      }
      case "LinePatternSymbolizer":
      case "PolygonPatternSymbolizer":
      case "PointSymbolizer":
        return file === undefined ? undefined : { type, attributes, ...shown };
      case "MarkersSymbolizer":
        return { type, attributes: withShape(attributes, file), ...shown };
      case "RasterSymbolizer":
        return this.raster(attributes, element._content);
      default:
        return { type, attributes };
    }
  }

  /** The fonts that only a project can have. */
  private foreign(names: readonly string[]): { readonly faces?: readonly string[] } {
    const faces = foreignFaces(names);
    if (faces.length === 0) return {};
    const key = faces.join();
    if (this.faces.size < maxFaceUses && !this.faces.has(key)) {
      const instead = installedFace(names) === undefined ? { instead: faceFor(names) } : {};
      this.faces.set(key, { names: faces, place: "", ...instead });
    }
    return { faces };
  }

  private picture(
    type: SymbolizerType,
    name: string,
    attributes: Readonly<Record<string, string>>,
  ): { readonly picture: string } {
    for (const column of columnsIn(name)) {
      this.fields.add(column);
      this.pictureFields.add(column);
    }
    const isPattern = type === "PolygonPatternSymbolizer" || type === "LinePatternSymbolizer";
    const growth = isPattern ? transformBuffer(attributes.transform).scale : 0;
    const known = this.pictures.get(name)?.patternGrowth ?? 0;
    this.pictures.set(name, { name, place: "", patternGrowth: Math.max(known, growth) });
    // Each is compared with all pictures of the project.
    if (columnsIn(name).length > 0 && this.names.add(name).size > maxNamesWithColumns)
      throw new StyleError(`The style has more than ${maxNamesWithColumns} names of pictures with columns.`);
    return { picture: name };
  }

  private label(type: SymbolizerType, source: string): string | undefined {
    const property = type === "TextSymbolizer" ? "text-name" : "shield-name";
    if (source.trim() === "" || source === "none") return undefined;
    return inProperty(property, () =>
      checkLabel(source, { property, fields: this.fields }, this.labelFields),
    );
  }

  private raster(attributes: Readonly<Record<string, string>>, content: unknown): Symbolizer {
    const property = "raster-colorizer-stops";
    const found = elements(content);
    if (found.length > 256) throw new PropertyError(property, `${property} must be at most 256 stops.`);
    const context = { property, fields: this.fields };
    const stops = found.map((stop): RasterStop => {
      const { value, color, mode } = stop._attributes ?? {};
      return inProperty(property, () => ({
        value: checkValue({ kind: "number", min: -1e12, max: 1e12 }, text(value), context) ?? "0",
        ...(color !== undefined && { color: checkValue({ kind: "color" }, text(color), context) ?? "" }),
        ...(mode !== undefined && {
          mode:
            checkValue({ kind: "keyword", values: ["discrete", "linear", "exact"] }, text(mode), context) ??
            "",
        }),
      }));
    });
    if (stops.some((stop, index) => index > 0 && Number(stop.value) < Number(stops[index - 1]?.value))) {
      throw new PropertyError(property, `${property} must be in ascending order.`);
    }
    return { type: "RasterSymbolizer", attributes, ...(stops.length > 0 && { stops }) };
  }

  private attributes(element: Element, owner: string, allowed: AllowedProperties): Record<string, string> {
    const checked: Record<string, string> = {};
    const byAttribute = propertiesByAttribute(allowed);
    for (const [name, value] of Object.entries(element._attributes ?? {})) {
      const property = byAttribute.get(name);
      if (!property) throw new StyleError(`${owner} may not have the property ${name}.`);
      const context = { property: property.name, fields: this.fields };
      const result = inProperty(property.name, () => checkValue(property.value, text(value), context));
      if (result !== undefined) checked[name] = result;
    }
    return checked;
  }
}

const isSymbolizerType = (name: string): name is SymbolizerType => Object.hasOwn(allowedSymbolizers, name);

const propertiesByAttribute = onceForEach(
  (allowed: AllowedProperties) =>
    new Map(Object.entries(allowed).map(([name, { attribute, value }]) => [attribute, { name, value }])),
);

function inProperty<T>(property: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StyleError) {
      throw new PropertyError(property, error.message, error instanceof ValueError ? error.value : undefined);
    }
    throw error;
  }
}

const unexpected = (element: Element): StyleError =>
  new StyleError(`The style holds ${String(element._name).slice(0, 40)}, which is not allowed.`);

/** The elements in a content, which may be nested lists with empty entries. */
function elements(content: unknown): Element[] {
  if (Array.isArray(content)) return content.flatMap(elements);
  return typeof content === "object" && content !== null && "_name" in content ? [content as Element] : [];
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };

/** A text from carto, with its XML escapes undone. */
function text(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return "";
  return value.replace(/&(amp|lt|gt|quot);/g, (_all, name: string) => entities[name] as string);
}

/** `layer-outline` → `outline`, `layer` → ``. */
const attachment = (name: string): string => name.replace(/^layer\d*-?/, "");

function styleName(element: Element): string {
  if (element._name !== "StyleName") throw unexpected(element);
  return text(element._content);
}

function scaleDenominator(element: Element): number {
  const value = Number(element._content);
  if (!(value >= 0 && value <= 1e12)) throw new StyleError("A zoom filter is not valid.");
  return value;
}

/** A spacing near 0 would put endlessly many symbols on a line. */
function checkSpacing(type: SymbolizerType, attributes: Readonly<Record<string, string>>): void {
  if (attributes.placement !== "line" || attributes.spacing === undefined || Number(attributes.spacing) >= 1)
    return;
  const property = type === "ShieldSymbolizer" ? "shield-spacing" : "text-spacing";
  throw new PropertyError(property, `${property} must be at least 1 along lines, not ${attributes.spacing}.`);
}

function textLength(styles: readonly Style[]): number {
  let sum = 0;
  for (const rule of styles.flatMap((style) => style.rules)) {
    sum += rule.filter?.length ?? 0;
    for (const { attributes, text = "" } of rule.symbolizers) {
      sum += text.length;
      for (const value of Object.values(attributes)) sum += value.length;
    }
  }
  return sum;
}

/** Mapnik refuses `placements` unless the placement type is `simple`. */
function withPlacements(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const { placements, ...rest } = attributes;
  return placements !== undefined && rest["placement-type"] === "simple" ? { ...rest, placements } : rest;
}

/** Mapnik selects the shape of a marker by a file name. */
function withShape(
  attributes: Readonly<Record<string, string>>,
  picture: string | undefined,
): Record<string, string> {
  const { "marker-type": shape, ...rest } = attributes;
  if (picture !== undefined) return rest;
  const own = withOwnOpacity(rest);
  return shape === "arrow" ? { ...own, file: "shape://arrow" } : own;
}
