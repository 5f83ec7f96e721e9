/**
 * A checked style: CartoCSS after compilation, with every element, attribute and value checked against the allow-list.
 * Plain data, so that it can be sent to other processes and hashed.
 */

export type SymbolizerType =
  | "LineSymbolizer"
  | "LinePatternSymbolizer"
  | "PolygonSymbolizer"
  | "PolygonPatternSymbolizer"
  | "PointSymbolizer"
  | "MarkersSymbolizer"
  | "TextSymbolizer"
  | "ShieldSymbolizer"
  | "BuildingSymbolizer"
  | "RasterSymbolizer"
  | "DotSymbolizer";

export interface Symbolizer {
  readonly type: SymbolizerType;
  /** Mapnik attribute names to checked values. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Mapnik text expression of Text- and ShieldSymbolizer. */
  readonly text?: string;
  /** Colours by value, of RasterSymbolizer. */
  readonly stops?: readonly RasterStop[];
}

export interface RasterStop {
  readonly value: string;
  readonly color?: string;
  readonly mode?: string;
}

export interface Rule {
  /** Mapnik filter expression; absent = every object. */
  readonly filter?: string;
  readonly minScaleDenominator?: number;
  readonly maxScaleDenominator?: number;
  readonly symbolizers: readonly Symbolizer[];
}

export interface Style {
  /** Attachment, unique within the layer: "" for the layer's own, "outline" for `#layer::outline`. */
  readonly name: string;
  /** Attributes of Mapnik's Style element: filter-mode, opacity, comp-op, image-filters … */
  readonly attributes: Readonly<Record<string, string>>;
  readonly rules: readonly Rule[];
}

/** One layer's compiled style. */
export interface CompiledStyle {
  readonly styles: readonly Style[];
  /** Column codes that filters, texts and attribute expressions use, sorted. */
  readonly fields: readonly string[];
  /** How far a symbol or label may extend from its object, in unscaled pixels: 1 to 256. */
  readonly bufferPixels: number;
}

/** Properties of `Map { … }` that a map's style may set. */
export interface MapProperties {
  /** CSS colour that Mapnik reads, such as #aabbcc or rgba(…). */
  readonly backgroundColor?: string;
}
