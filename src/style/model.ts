import type { GeometryKind } from "../geo/geometry-kind.js";

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
  | "DotSymbolizer"
  | "DebugSymbolizer";

export interface Symbolizer {
  readonly type: SymbolizerType;
  /** Mapnik attribute names to checked values. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Mapnik text expression of Text- and ShieldSymbolizer. */
  readonly text?: string;
  /**
   * The picture that it shows: path of a picture of the project, in which `[column]` stands for a value, or `icon:name`.
   * Replaced by the attribute `file` before drawing (pictures.ts).
   */
  readonly picture?: string;
  /**
   * Names of fonts for its labels that only a project can have, the best first. With one of them it takes the place of
   * the attribute `face-name` before drawing (pictures.ts).
   */
  readonly faces?: readonly string[];
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
  /** Column codes that filters and expressions use, sorted, but for those that labels show. */
  readonly fields: readonly string[];
  /** How far a symbol or label may extend from its object, in unscaled pixels: 1 to 256. */
  readonly bufferPixels: number;
  /** The pictures that its symbolizers name; absent = none. */
  readonly pictures?: readonly PictureUse[];
  /** Where symbolizers name fonts that only a project can have; absent = they name none. */
  readonly faces?: readonly FaceUse[];
  /** Columns whose values are parts of the names of pictures, sorted; absent = none. */
  readonly pictureFields?: readonly string[];
  /** Columns whose values labels show, sorted; absent = none. */
  readonly labelFields?: readonly string[];
  /** What of the style has no effect, for its author; absent = nothing. */
  readonly notices?: readonly string[];
  /** As legends list them; absent = it was not made from CartoCSS. */
  readonly classes?: StyleClasses;
  /** SQL of what a visualization draws in place of the objects, with their columns; absent = the objects. */
  readonly query?: (options: {
    language: string;
    mainLanguage: string;
    zoom: number;
    scaleDenominator: number;
    atAntimeridian: boolean;
  }) => string;
}

/** The classes of a style (classes.ts). */
export interface StyleClasses {
  readonly classes: readonly StyleClass[];
  /** How many more there are. */
  readonly more: number;
}

export interface StyleClass {
  /** Mapnik expression, as much of it as is said in words; absent = the objects in no other class. */
  readonly filter?: string;
  /**
   * What is drawn of an object of the class, from the bottom to the top, at the zoom at which that is most; of very much
   * the uppermost.
   */
  readonly drawn: readonly DrawnRule[];
  /** Its colour, by the kind of the layer's geometries. */
  readonly colors: Readonly<Record<GeometryKind, string>>;
  /** Whether it shows a picture. */
  readonly hasPicture: boolean;
  /** An object of the class, by the codes of columns; others are null. */
  readonly values: readonly (readonly [code: string, value: string | number | boolean | null])[];
  /** Of that object, as Mapnik numbers them: 1 = point, 2 = line, 3 = area; absent = any. */
  readonly geometryType?: number;
  /**
   * The first and the last zoom at which it is drawn by a rule of its own, and not as the objects of a wider class;
   * absent = at all.
   */
  readonly zooms?: readonly [number, number];
}

/** Number of a style, of a rule in it, and of the first of its symbolizers that is drawn. */
export type DrawnRule = readonly [style: number, rule: number, from: number];

/** A list of fonts that a style names. */
export interface FaceUse {
  /** As `Symbolizer.faces`. */
  readonly names: readonly string[];
  /** Where it is named first, for messages; "" = not known. */
  readonly place: string;
  /** The installation's font that is drawn in place of them though the style does not name it. */
  readonly instead?: string;
}

/** A picture that a style names. */
export interface PictureUse {
  /** As `Symbolizer.picture`. */
  readonly name: string;
  /** Where it is named first, for messages: "Line 3, column 5"; "" = not known. */
  readonly place: string;
  /** How many times the style enlarges it at most, where it is drawn as a pattern: 0 = nowhere. */
  readonly patternGrowth: number;
}

/** Properties of `Map { … }` that a map's style may set. */
export interface MapProperties {
  /** CSS colour that Mapnik reads, such as #aabbcc or rgba(…). */
  readonly backgroundColor?: string;
}
