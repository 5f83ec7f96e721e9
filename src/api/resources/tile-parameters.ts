import { z } from "zod";
import { languageTagPattern } from "../../catalog/codes.js";
import { badRequest } from "../../errors.js";
import { flipY, maxZoom, type TileCoord } from "../../geo/tile.js";
import { coordOf, type TileAddress, type TileScale } from "../../tiles/address.js";
import { type TileFormat, tileFormats } from "../../tiles/formats.js";
import { choice } from "../request/schema/parameters.js";
import { ruled, type Values } from "../request/schema/schema.js";

/** What the addresses of tiles hold: parameters of the query, and segments of the path. */

const digits = /^\d{1,8}$/;

/** A whole number that must be there, and not be empty. Else a bad request. */
function coordinate(description: string, most?: number) {
  const least = z.int("must be a whole number").min(0);
  const schema = z.preprocess(
    (given) => (digits.test(String(given)) ? Number(given) : given),
    most === undefined ? least : least.max(most, `must be 0 to ${most}`),
  );
  return ruled(schema, { blanks: [] }).describe(description);
}

const maxLayers = 1_000;

const layers = ruled(z.string(), { blanks: [] })
  .regex(/^\d{0,15}(,\d{0,15})*$/, "must be ids separated by commas")
  .transform((given) => given.split(",").filter(Boolean).map(Number))
  .refine((ids) => ids.length <= maxLayers, `must be at most ${maxLayers} ids`)
  .meta({
    description:
      "Ids of layers, separated by commas; a folder's stands for all that it holds. Ids that are not of this map are " +
      "ignored. Without it: what is selected in the publication tree. Empty: no layer.",
    examples: ["12,15"],
  })
  .optional();

const language = z
  .string()
  .regex(languageTagPattern, "must be a language code")
  .meta({
    description: "Language of the texts on the map; default: the main language of the map.",
    examples: ["en"],
  })
  .optional();

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
    coord: coordOf(segment("z", z), segment("x", x), Number(y)),
    scale: ratio === undefined ? undefined : (Number(ratio) as TileScale),
    format,
  };
}

function segment(name: string, given: string): number {
  if (!digits.test(given)) throw badRequest(`${name} must be a whole number.`);
  return Number(given);
}

/** What a tile at `coord` is asked for with. */
export const addressOf = (
  coord: TileCoord,
  format: TileFormat,
  { base, layers, retina, lng, q }: Values<typeof tileParameters>,
): TileAddress => ({ coord, base: base === 1, layers, scale: retina, language: lng, format, quality: q });
