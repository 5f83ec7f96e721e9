import { badRequest } from "../errors.js";
import { flipY, isTile, maxZoom, type TileCoord } from "../geo/tile.js";

/** What a tile request asks for, as typed values. */
export interface TileAddress {
  /** XYZ. */
  readonly coord: TileCoord;
  readonly base: boolean;
  /** Ids of layers and folders; undefined = what the map shows by default. */
  readonly layers: readonly number[] | undefined;
  /** 256 × scale pixels a side. */
  readonly scale: 1 | 2 | 3;
  /** Language code; undefined = the map's main language. */
  readonly language: string | undefined;
  readonly quality: 0 | 1;
}

type Read = (name: string) => string | undefined;

const maxLayers = 1_000;

/** Reads `x`, `y` (TMS, origin at the bottom) and `z` of the contract's address. @throws Failure bad_request */
export function contractCoord(read: Read): TileCoord {
  const z = wholeNumber("z", read("z"));
  if (z > maxZoom) throw badRequest(`z must be 0 to ${maxZoom}.`);
  return coordOf(z, wholeNumber("x", read("x")), flipY(z, wholeNumber("y", read("y"))));
}

/** Reads the path `z/x/y.png` or `z/x/y@2x.png`, XYZ. @throws Failure bad_request */
export function pathCoord(
  z: string,
  x: string,
  file: string,
): { coord: TileCoord; scale: 1 | 2 | 3 | undefined } {
  const match = /^(\d{1,8})(?:@([123])x)?\.png$/.exec(file);
  if (!match) throw badRequest("The address of a tile ends in y.png or y@2x.png.");
  return {
    coord: coordOf(wholeNumber("z", z), wholeNumber("x", x), Number(match[1])),
    scale: match[2] === undefined ? undefined : (Number(match[2]) as 1 | 2 | 3),
  };
}

/** The optional parameters of both addresses. @throws Failure bad_request */
export function tileParameters(read: Read): Omit<TileAddress, "coord"> {
  const language = read("lng");
  if (
    language !== undefined &&
    language !== "" &&
    !/^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*$/.test(language)
  ) {
    throw badRequest("lng must be a language code.");
  }
  return {
    base: choice("base", read("base"), [1, 0] as const) === 1,
    layers: layerIds(read("layers")),
    scale: choice("retina", read("retina"), [1, 2, 3] as const),
    language: language || undefined,
    quality: choice("q", read("q"), [0, 1] as const),
  };
}

function coordOf(z: number, x: number, y: number): TileCoord {
  if (!isTile(z, x, y)) throw badRequest(`There is no tile ${x}, ${y} at zoom ${z}.`);
  return { z, x, y };
}

function wholeNumber(name: string, text: string | undefined): number {
  if (text === undefined || !/^\d{1,8}$/.test(text)) throw badRequest(`${name} must be a whole number.`);
  return Number(text);
}

function choice<T extends number>(name: string, text: string | undefined, values: readonly [T, ...T[]]): T {
  if (text === undefined || text === "") return values[0];
  const value = values.find((one) => String(one) === text);
  if (value === undefined) throw badRequest(`${name} must be one of ${values.join(", ")}.`);
  return value;
}

function layerIds(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined;
  const ids: number[] = [];
  for (const part of text.split(",")) {
    if (part === "") continue;
    if (!/^\d{1,15}$/.test(part)) throw badRequest("layers must be ids separated by commas.");
    ids.push(Number(part));
    if (ids.length > maxLayers) throw badRequest(`layers must be at most ${maxLayers} ids.`);
  }
  return ids;
}
