import type { LayerNode } from "../catalog/state.js";
import { bufferPixelsOf } from "../style/buffer-size.js";
import type { CompiledStyle } from "../style/model.js";
import type { Settings } from "./columns.js";
import type { FindPicture } from "./drawing.js";
import { kindOf, questionOf } from "./kinds.js";
import { labelColumn, labels } from "./labels.js";
import { drawingQuery } from "./query.js";
import { noValues, type VisualValues } from "./values.js";

/** Whether tiles draw the layer's visualization in place of its CartoCSS. */
export const isVisualized = (layer: LayerNode): boolean =>
  layer.visualSettings !== null && layer.styleMode === 3;

/** Whether what is drawn depends on statistics of the layer's objects. */
export function drawsStatistics(layer: LayerNode): boolean {
  const settings = layer.visualSettings;
  if (layer.visualCustomSettings) return questionOf(layer) !== undefined;
  if (!settings) return false;
  const kind = kindOf(settings);
  const classes = settings.classesSettings as Settings;
  return kind.drawsStatistics && kind.question({ layer, settings, classes }) !== undefined;
}

/** The style that draws the layer's visualization. @param values of the objects; undefined = none are needed */
export function visualStyle(
  layer: LayerNode,
  values: VisualValues | undefined,
  findPicture: FindPicture,
): CompiledStyle {
  const settings = layer.visualSettings as Settings;
  const classes = settings.classesSettings as Settings;
  const kind = kindOf(settings);
  const drawing = kind.draw({
    ...{ layer, settings, classes, findPicture },
    values: values ?? noValues,
  });
  const labelled = !kind.drawsNoLabels && labelColumn(layer, settings) !== undefined;
  const own = labelled
    ? [drawing.labels ?? labels(settings, layer, { fills: drawing.fills, beside: drawing.beside })]
    : [];
  const pictures = drawing.styles
    .flatMap(({ rules }) => rules.flatMap(({ symbolizers }) => symbolizers))
    .flatMap(({ picture }) => (picture === undefined ? [] : [picture]));
  return {
    styles: [...drawing.styles, ...own],
    fields: [],
    pictures: [...new Set(pictures)].map((name) => ({ name, place: "", patternGrowth: 0 })),
    bufferPixels: Math.max(Math.ceil(drawing.reach), bufferPixelsOf(own)),
    query: (options) => drawingQuery(layer, drawing, options),
  };
}
