import type { z } from "zod";
import type { Column, LayerNode } from "../catalog/state.js";
import type { Fits, Known, Plain, Settings } from "./columns.js";
import type { ClassSymbol, FindPicture, VisualDrawing } from "./drawing.js";
import type { VisualQuestion } from "./statistics.js";
import type { VisualValues } from "./values.js";

/** An item of a legend: how one group of objects is shown. */
export interface Classificator {
  readonly value: unknown;
  /** A colour. */
  readonly fill: unknown;
  readonly isIcon: boolean;
  /** Width of its symbol on the map, in pixels, of kinds whose sizes tell something. */
  readonly size?: number;
  /** Colour of its rim, if it has a size and a rim. */
  readonly rim?: string;
  /** Whether the size is that of a square; absent = of a circle. */
  readonly isSquare?: true;
}

/** An item that tells how large a value is shown. */
export type SizedItem = Classificator & { readonly size: number };

/** An item that is of no class. */
export interface LastItem extends Classificator {
  /** Of objects without a value. */
  readonly isNoData?: true;
  /** Of charts without room: they are dots, or smaller where that is enough. */
  readonly noRoom?: "dot" | "smaller";
}

export const classificator = (value: unknown, fill: unknown, isIcon: unknown = false): Classificator => ({
  value: value ?? null,
  fill,
  isIcon: isIcon === true,
});

/** Settings of a visualization as they are stored, with its computed values. */
export interface Visualization {
  readonly layer: LayerNode;
  /** Those that all kinds have. */
  readonly settings: Settings;
  /** `classesSettings`. */
  readonly classes: Settings;
}

export interface ValuedVisualization extends Visualization {
  readonly values: VisualValues;
  readonly findPicture: FindPicture;
}

/** A kind of visualizations. One file each in `kinds`; `kinds.ts` lists them by the number that the contract gives them. */
export interface VisualKind {
  /** Of `classesSettings` in requests. */
  readonly schema: z.ZodType;
  /** Which column it is built from; undefined = it needs none. */
  readonly column: Fits | undefined;
  /** Its drawings have `shapesWithObjects`. */
  readonly clusters?: true;
  /** It shows no labels, whatever the settings say. */
  readonly drawsNoLabels?: true;
  /** Its borders are rims of circles, which may suit these (`colorByFill`). */
  readonly hasRims?: true;
  /** Whether the algorithm for class borders counts. */
  readonly hasBorders: boolean;
  /** `classesSettings` of a request that has no classes: neither an algorithm nor a number of them. */
  readonly unclassed?: (classes: Settings) => Plain;
  /**
   * `classesSettings` for values on both sides of 0; undefined = the request has colours, or the kind has none that tell them.
   * @param given `classesSettings` of the request
   */
  readonly forBothSigns?: (classes: Settings, given: Settings) => Plain | undefined;
  /**
   * Resolves columns of `classesSettings`, and what depends on other settings.
   * @param given `classesSettings` of the request, without defaults
   * @throws Failure unknown_column, invalid_value
   */
  readonly read?: (layer: LayerNode, classes: Plain, at: string, given: Settings) => Plain;
  /** `classesCount`, where the classes are given; undefined = they are not. */
  readonly countOf?: (classes: Settings) => number | undefined;
  /** `classesSettings` without columns that are gone: the same object if nothing changed, null if one is indispensable. */
  readonly prune?: (classes: Settings, known: Known) => Settings | null;
  /** For settings that leave the classes to the server: some of the commonest values of the column become them. */
  readonly ofCommon?: {
    readonly most: number;
    readonly isWanted: (given: Settings) => boolean;
    readonly classes: (classes: Settings, values: readonly unknown[]) => Plain;
  };
  /** `classesSettings` with values that were computed from the objects. */
  readonly withValues?: (classes: Settings, values: VisualValues) => Plain;
  /** `classesSettings` as answers have it: all fields, null where absent, and the codes of columns. */
  readonly shown?: (layer: LayerNode, classes: Settings) => Plain;
  /** `classesSettings` as shown, with the titles of columns. */
  readonly titled?: (layer: LayerNode, classes: Settings, titleOf: (column: Column) => string) => Plain;
  /** The statistics of the objects that it shows; undefined = none. */
  readonly question: (visualization: Visualization) => VisualQuestion | undefined;
  /** Whether `draw` needs the statistics of `question`. */
  readonly drawsStatistics: boolean;
  readonly draw: (visualization: ValuedVisualization) => VisualDrawing;
  /** @param classes as shown, with values */
  readonly legend: (
    layer: LayerNode,
    classes: Settings,
    nameOf: (column: Column) => string,
  ) => Classificator[];
  /**
   * The legend where each item has a symbol of its own, if these tell more than colours do.
   * @param classes as shown, with values
   */
  readonly legendOfSymbols?: (classes: Settings, settings: Settings) => Classificator[];
  /** Whether the legend's last item, not its first, stands for the whole layer. */
  readonly lastStandsForLayer?: boolean;
  /** How the symbols of the (extended) legend's items are drawn, in its order; absent = areas of their colours. */
  readonly symbols?: (visualization: ValuedVisualization) => readonly ClassSymbol[];
  /** What the sizes of its charts tell: a column, or the sum of what they show; undefined = nothing. */
  readonly sizedBy?: (layer: LayerNode, classes: Settings) => Column | "sum" | undefined;
  /** Their sizes: items of the extended legend after those of the classes. */
  readonly sizes?: (visualization: Pick<ValuedVisualization, "layer" | "classes" | "values">) => SizedItem[];
  /** An item after the others of the extended legend. @param classes as shown, with values */
  readonly lastItem?: (classes: Settings) => LastItem | undefined;
  /** Its symbol. */
  readonly lastSymbol?: (visualization: Visualization) => ClassSymbol;
}
