import type { RasterService } from "../external/requests.js";
import type { RasterServices } from "../external/services.js";
import { topScaleDenominator } from "../geo/tile.js";
import type { CompiledStyle } from "../style/model.js";
import type { ImagePart } from "./image-part.js";
import { digest } from "./plan.js";

/** How the images of a raster service are drawn: as an external layer, or as the base map. */

/**
 * @param owner project whose map it is of
 * @param style of the layer, of which `raster-opacity` holds; absent = as they are
 */
export function externalPart(
  services: Pick<RasterServices, "image">,
  { url, minZoom, maxZoom }: RasterService,
  owner: string,
  style?: CompiledStyle,
): ImagePart {
  const service = { url, minZoom, maxZoom };
  const opacities = style ? opacitiesOf(style) : [];
  const text = JSON.stringify([service, opacities]);
  return {
    digest: digest(text),
    reachPixels: 0,
    length: text.length,
    make: async (area, user) => {
      const opacity = opacityAt(opacities, area.origin.z);
      if (opacity === 0) return { image: undefined };
      const { image, expiresAt, isPartial } = await services.image({ ...service, owner }, area, user);
      return { image: image && { ...image, opacity }, expiresAt, isPartial };
    },
  };
}

interface Opacity {
  readonly min: number;
  readonly max: number;
  readonly opacity: number;
}

const opacitiesOf = ({ styles }: CompiledStyle): Opacity[] =>
  styles
    .flatMap(({ rules }) => rules)
    .flatMap(({ symbolizers, minScaleDenominator = 0, maxScaleDenominator = Number.MAX_VALUE }) =>
      symbolizers
        .filter(({ type }) => type === "RasterSymbolizer")
        .map(({ attributes }) => ({
          min: minScaleDenominator,
          max: maxScaleDenominator,
          opacity: Number(attributes.opacity ?? 1),
        })),
    );

/** The first rule for the zoom holds; a style with rules for other zooms only draws nothing. */
function opacityAt(opacities: readonly Opacity[], z: number): number {
  if (opacities.length === 0) return 1;
  const denominator = topScaleDenominator / 2 ** z;
  const found = opacities.find(({ min, max }) => denominator >= min - 1e-6 && denominator < max + 1e-6);
  return found?.opacity ?? 0;
}
