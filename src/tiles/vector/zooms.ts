import { maxZoom, topScaleDenominator } from "../../geo/tile.js";
import { onceForEach } from "../../once.js";
import type { CompiledStyle } from "../../style/model.js";

/** From the first to the last zoom at which a layer is in tiles. */
export interface ZoomRange {
  readonly min: number;
  readonly max: number;
}

export const allZooms: ZoomRange = { min: 0, max: maxZoom };

/**
 * The zooms at which the style draws something. A style that draws nothing at all says nothing about zooms: all of them. Kept, as
 * layers share styles and maps are asked for again.
 */
export const zoomsOf = onceForEach(findZooms);

function findZooms({ styles }: CompiledStyle): ZoomRange {
  const rules = styles.flatMap((style) => style.rules).filter(({ symbolizers }) => symbolizers.length > 0);
  const drawn = (z: number) =>
    rules.some(({ minScaleDenominator = 0, maxScaleDenominator = Number.POSITIVE_INFINITY }) => {
      const denominator = topScaleDenominator / 2 ** z;
      return denominator >= minScaleDenominator - 1e-6 && denominator < maxScaleDenominator + 1e-6;
    });
  const zooms = Array.from({ length: maxZoom + 1 }, (_, z) => z).filter(drawn);
  return zooms.length === 0 ? allZooms : { min: zooms[0]!, max: zooms[zooms.length - 1]! };
}
