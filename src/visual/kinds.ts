import type { LayerNode } from "../catalog/state.js";
import type { Settings } from "./columns.js";
import type { VisualKind } from "./kind.js";
import { bars } from "./kinds/bars.js";
import { bubbles } from "./kinds/bubbles.js";
import { categories } from "./kinds/categories.js";
import { clusters } from "./kinds/clusters.js";
import { gradient } from "./kinds/gradient.js";
import { heat } from "./kinds/heat.js";
import { lines } from "./kinds/lines.js";
import { pies } from "./kinds/pies.js";
import { limitsQuestion, type VisualQuestion } from "./statistics.js";

/** The kinds of visualizations by the number that is their `type`. */
const kinds: ReadonlyMap<number, VisualKind> = new Map([
  [1, gradient],
  [2, categories],
  [3, bubbles],
  [4, pies],
  [5, bars],
  [6, lines],
  [7, heat],
  [8, clusters],
]);

/** Values of `type`. */
export const kindNumbers: readonly number[] = [...kinds.keys()];
export const allKinds: readonly VisualKind[] = [...kinds.values()];

/** The kind of settings whose `type` was checked. */
export function kindOf(settings: Settings): VisualKind {
  const kind = kinds.get(settings.type as number);
  if (!kind) throw new Error("There is no such kind of visualizations.");
  return kind;
}

/** Undefined when the layer has no visualization, or one that does not depend on its objects. */
export function questionOf(layer: LayerNode): VisualQuestion | undefined {
  const settings = layer.visualSettings;
  const scaledBy = layer.visualCustomSettings?.scaledBy;
  if (scaledBy !== undefined) return limitsQuestion(layer, [scaledBy], false);
  if (!settings) return undefined;
  return kindOf(settings).question({ layer, settings, classes: settings.classesSettings as Settings });
}
