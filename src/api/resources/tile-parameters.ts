import { z } from "zod";
import { languageTagPattern } from "../../catalog/codes.js";
import { badRequest } from "../../errors.js";
import { flipY, maxZoom, type TileCoord } from "../../geo/tile.js";
import { coordOf, type TileAddress, type TileScale } from "../../tiles/address.js";
import { defaultTileFormat, type TileFormat, tileFormats } from "../../tiles/formats.js";
import { mvt } from "../../tiles/vector/address.js";
import { choice } from "../request/schema/parameters.js";
import { ruled, type Values } from "../request/schema/schema.js";

/** Query and path parameters of tile requests. */

const digits = /^\d{1,8}$/;

/** A required integer from 0. Else a bad request. */
function coordinate(description: string, most?: number) {
  const natural = z.int("must be a whole number").min(0);
  const schema = z.preprocess(
    (given) => (digits.test(String(given)) ? Number(given) : given),
    most === undefined ? natural : natural.max(most, `must be 0 to ${most}`),
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
      "Ids of layers, or of folders for all their layers, separated by commas. Ids of other maps are ignored. " +
      "Default, and with the id of the map: the layers selected in the publication tree. Empty: no layers.",
    examples: ["12,15"],
  })
  .optional();

const language = z
  .string()
  .regex(languageTagPattern, "must be a language code")
  .meta({
    description: "Language of labels; default: the main language of the map.",
    examples: ["en"],
  })
  .optional();

const base = choice("1 = with base map, 0 = without.", [1, 0]);
const anyBase = choice<1 | 0 | "builtin">(
  "1 = with the base map of the project, 0 = without, `builtin` = with the built-in one, where the project has another.",
  [1, 0, "builtin"],
);
const background = choice(
  "0 = without the background colour of the map's style, to lie over other images.",
  [1, 0],
);
const quality = choice(tileFormats.map(({ qualities }) => qualities).join(" "), [0, 1]);

const formatNames = tileFormats.map(({ name }) => name);
const format = choice("Image format.", [
  defaultTileFormat.name,
  ...formatNames.filter((name) => name !== defaultTileFormat.name),
]).transform((name) => tileFormats.find((one) => one.name === name) ?? defaultTileFormat);

/** Parameters that apply to all tiles of a map. */
export const mapTileParameters = { base, layers, lng: language, q: quality, f: format };

/** Parameters that apply to all vector tiles of a map. */
export const vectorParameters = { layers, lng: language };

/** Parameters of a single tile. */
export const tileParameters = {
  base: anyBase,
  background,
  layers,
  retina: choice<TileScale>(
    "Scale factor for high-resolution screens: 2 = tiles of 512 × 512 pixels.",
    [1, 2, 3],
  ),
  lng: language,
  q: quality,
};

/** Parameters of the tile URL with all values in the query. */
export const contractParameters = {
  x: coordinate("Tile column, counted from the west."),
  y: coordinate("Tile row, counted from the south (TMS)."),
  z: coordinate("Zoom level.", maxZoom),
  ...tileParameters,
  f: format,
};

/** @throws Failure bad_request when the coordinates are out of range */
export const contractCoord = ({ x, y, z }: Values<typeof contractParameters>): TileCoord =>
  coordOf(z, x, flipY(z, y));

/** Parses the path `z/x/y.png` or `z/x/y@2x.png`, XYZ. @throws Failure bad_request */
export function pathTile(
  z: string,
  x: string,
  file: string,
): { readonly coord: TileCoord; readonly scale: TileScale | undefined; readonly format: TileFormat } {
  const [, y, ratio, extension] = /^(\d{1,8})(?:@([123])x)?\.(\w+)$/.exec(file) ?? [];
  const format = tileFormats.find(({ name }) => name === extension);
  if (!format) {
    const endings = [...tileFormats.flatMap(({ name }) => [`y.${name}`, `y@2x.${name}`]), `y.${mvt.name}`];
    throw badRequest(`The address of a tile ends in ${endings.join(" or ")}.`);
  }
  return {
    coord: coordOf(segment("z", z), segment("x", x), Number(y)),
    scale: ratio === undefined ? undefined : (Number(ratio) as TileScale),
    format,
  };
}

/** Parses the path `z/x/y.mvt`, XYZ; undefined when it does not end so. @throws Failure bad_request */
export function vectorPathTile(z: string, x: string, file: string): TileCoord | undefined {
  if (!file.endsWith(`.${mvt.name}`)) return undefined;
  return coordOf(segment("z", z), segment("x", x), segment("y", file.slice(0, -mvt.name.length - 1)));
}

function segment(name: string, given: string): number {
  if (!digits.test(given)) throw badRequest(`${name} must be a whole number.`);
  return Number(given);
}

/** The address of a tile with these parameters. */
export const addressOf = (
  coord: TileCoord,
  format: TileFormat,
  { base, background, layers, retina, lng, q }: Values<typeof tileParameters>,
): TileAddress => ({
  coord,
  base: base !== 0,
  builtinBase: base === "builtin",
  background: background === 1,
  layers,
  scale: retina,
  language: lng,
  format,
  quality: q,
});
