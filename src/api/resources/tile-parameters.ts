import { isLanguageTag, languageTagPattern } from "../../catalog/codes.js";
import { badRequest } from "../../errors.js";
import { flipY, maxZoom, type TileCoord } from "../../geo/tile.js";
import { coordOf, type TileAddress, type TileScale } from "../../tiles/address.js";
import { type TileFormat, tileFormats } from "../../tiles/formats.js";
import type { Parameter } from "../request/schema/parameters.js";
import type { Values } from "../request/schema/schema.js";

/** What the addresses of tiles hold: parameters of the query, and segments of the path. */

/** A whole number that must be there. Else a bad request. */
function coordinate(description: string, most?: number): Parameter<number> {
  return {
    description,
    schema: { type: "integer", minimum: 0, ...(most === undefined ? {} : { maximum: most }) },
    required: true,
    read: (given, name) => {
      const value = wholeNumber(name, given);
      if (most !== undefined && value > most) throw badRequest(`${name} must be 0 to ${most}.`);
      return value;
    },
  };
}

function wholeNumber(name: string, given: string | undefined): number {
  if (given === undefined || !/^\d{1,8}$/.test(given)) throw badRequest(`${name} must be a whole number.`);
  return Number(given);
}

/** One of some numbers; the first is what counts when none is given. Else a bad request. */
function choice<const N extends number>(description: string, values: readonly [N, ...N[]]): Parameter<N> {
  return {
    description,
    schema: { enum: values, default: values[0] },
    read: (given, name) => {
      if (!given) return values[0];
      const value = values.find((one) => String(one) === given);
      if (value === undefined) throw badRequest(`${name} must be one of ${values.join(", ")}.`);
      return value;
    },
  };
}

const maxLayers = 1_000;

const layers: Parameter<readonly number[] | undefined> = {
  description:
    "Ids of layers, separated by commas; a folder's stands for all that it holds. Ids that are not of this map are " +
    "ignored. Without it: what is selected in the publication tree. Empty: no layer.",
  schema: { type: "string", pattern: "^\\d{0,15}(,\\d{0,15})*$", examples: ["12,15"] },
  read: (given, name) => {
    if (given === undefined) return undefined;
    const ids: number[] = [];
    for (const part of given.split(",")) {
      if (part === "") continue;
      if (!/^\d{1,15}$/.test(part)) throw badRequest(`${name} must be ids separated by commas.`);
      ids.push(Number(part));
      if (ids.length > maxLayers) throw badRequest(`${name} must be at most ${maxLayers} ids.`);
    }
    return ids;
  },
};

const language: Parameter<string | undefined> = {
  description: "Language of the texts on the map; default: the main language of the map.",
  schema: { type: "string", pattern: languageTagPattern.source, examples: ["en"] },
  read: (given, name) => {
    if (!given) return undefined;
    if (!isLanguageTag(given)) throw badRequest(`${name} must be a language code.`);
    return given;
  },
};

const base = choice("1 = over the base map, 0 = without it.", [1, 0]);
const quality = choice(tileFormats.map(({ qualities }) => qualities).join(" "), [0, 1]);

/** What all tiles of a map can be asked for with. */
export const mapTileParameters = { base, layers, lng: language, q: quality };

/** What a tile can be asked for with. */
export const tileParameters = {
  base,
  layers,
  retina: choice<TileScale>("Multiplier for fine screens: 2 gives tiles of 512 × 512 pixels.", [1, 2, 3]),
  lng: language,
  q: quality,
};

/** The contract's address of a tile. */
export const contractParameters = {
  x: coordinate("Column of the tile, from the west."),
  y: coordinate("Row of the tile by TMS: 0 is the southernmost."),
  z: coordinate("Zoom.", maxZoom),
  ...tileParameters,
};

/** @throws Failure bad_request when there is no such tile */
export const contractCoord = ({ x, y, z }: Values<typeof contractParameters>): TileCoord =>
  coordOf(z, x, flipY(z, y));

/** Reads the path `z/x/y.png` or `z/x/y@2x.png`, XYZ. @throws Failure bad_request */
export function pathTile(
  z: string,
  x: string,
  file: string,
): { readonly coord: TileCoord; readonly scale: TileScale | undefined; readonly format: TileFormat } {
  const [, y, ratio, extension] = /^(\d{1,8})(?:@([123])x)?\.(\w+)$/.exec(file) ?? [];
  const format = tileFormats.find(({ name }) => name === extension);
  if (!format) {
    const endings = tileFormats.map(({ name }) => `y.${name} or y@2x.${name}`);
    throw badRequest(`The address of a tile ends in ${endings.join(" or ")}.`);
  }
  return {
    coord: coordOf(wholeNumber("z", z), wholeNumber("x", x), Number(y)),
    scale: ratio === undefined ? undefined : (Number(ratio) as TileScale),
    format,
  };
}

/** What a tile at `coord` is asked for with. */
export const addressOf = (
  coord: TileCoord,
  format: TileFormat,
  { base, layers, retina, lng, q }: Values<typeof tileParameters>,
): TileAddress => ({ coord, base: base === 1, layers, scale: retina, language: lng, format, quality: q });
