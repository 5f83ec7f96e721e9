import type { LayerNode } from "../catalog/state.js";
import type { Settings } from "./columns.js";
import { kindOf } from "./kinds.js";
import { shapesQuery } from "./query.js";
import { isVisualized } from "./style.js";
import { noValues } from "./values.js";

/** Shapes that stand for several objects, as tiles draw them. */
export interface Clustered {
  /** How far from a place an object may be that decides about the shapes there, in unscaled pixels. */
  readonly reachPixels: number;
  /**
   * SQL of the shapes: `svc_id` of an object of it, `count$`, `size$` (width in pixels), `geom$` (where it is), `ids$` (of its
   * objects), `box$` (around them).
   * @param place.box SQL of the box, in EPSG:3857, with whose objects they are made: those at its edge lack some
   * @param place.pixel metres of EPSG:3857
   */
  sql(place: { readonly box: string; readonly pixel: number; readonly atAntimeridian: boolean }): string;
}

/** What the layer's visualization clusters; undefined = it shows each object by itself. */
export function clusteredBy(layer: LayerNode, zoom: number): Clustered | undefined {
  if (!isVisualized(layer)) return undefined;
  const settings = layer.visualSettings as Settings;
  const kind = kindOf(settings);
  // Others may have a thousand classes, which would be drawn for nothing at each click.
  if (!kind.clusters) return undefined;
  const classes = settings.classesSettings as Settings;
  const drawing = kind.draw({
    ...{ layer, settings, classes },
    values: noValues,
    findPicture: () => undefined,
  });
  const shapes = shapesQuery(layer, drawing);
  if (!shapes) return undefined;
  return {
    reachPixels: drawing.reach,
    sql: ({ box, pixel, atAntimeridian }) =>
      shapes({ zoom, atAntimeridian })
        .replaceAll("!bbox!", box)
        .replaceAll("!scale_denominator!", String(pixel / 0.00028)),
  };
}
