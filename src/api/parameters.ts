import { badRequest } from "../errors.js";
import { type GeoEnvelope, toDegrees } from "../geo/envelope.js";
import { mercatorHalf } from "../geo/tile.js";
import type { Parameters } from "../http/types.js";

/**
 * Parameters of a query or body as typed values, read once at the edge. One that is absent or empty counts as not given;
 * one that cannot be read is a bad request that names it.
 */

/** A record of a body (form or JSON) seen as parameters: numbers and flags as text, lists joined by commas. */
export function parametersOf(record: Readonly<Record<string, unknown>>): Parameters {
  const get = (name: string): string | undefined => {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (value === undefined || value === null) return undefined;
    return typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : String(value);
  };
  return { get, has: (name) => get(name) !== undefined, names: () => Object.keys(record) };
}

/** The text of a parameter; "" counts as not given. */
export const text = (parameters: Parameters, name: string): string | undefined =>
  parameters.get(name) || undefined;

/** Digits, or digits with a whole exponent: 1000 and 1e3. */
const wholeNumber = /^[+-]?\d+(?:e\+?\d{1,2})?$/i;

/** @throws Failure bad_request when it is no whole number, or outside of `least` … `most` */
export function integer(
  parameters: Parameters,
  name: string,
  { least = 0, most = Number.MAX_SAFE_INTEGER }: { least?: number; most?: number } = {},
): number | undefined {
  const given = text(parameters, name);
  if (given === undefined) return undefined;
  const value = wholeNumber.test(given) ? Number(given) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw badRequest(
    most === Number.MAX_SAFE_INTEGER
      ? `${name} must be a whole number, at least ${least}.`
      : `${name} must be a whole number from ${least} to ${most}.`,
  );
}

/** 1 or 0, also true or false; absent = false. @throws Failure bad_request */
export function flag(parameters: Parameters, name: string): boolean {
  switch (text(parameters, name)?.toLowerCase()) {
    case undefined:
    case "0":
    case "false":
      return false;
    case "1":
    case "true":
      return true;
    default:
      throw badRequest(`${name} must be 1 or 0.`);
  }
}

/** A reference system: 4326 (default) or 3857. @throws Failure bad_request */
export function srid(parameters: Parameters, name: string): 4326 | 3857 {
  const given = text(parameters, name);
  if (given === undefined || given === "4326") return 4326;
  if (given === "3857") return 3857;
  throw badRequest(`${name} must be 4326 or 3857.`);
}

/** Codes separated by commas, without blanks around them. */
export const codes = (list: string): string[] =>
  list
    .split(",")
    .map((code) => code.trim())
    .filter(Boolean);

/** `fields`: column codes; `*` = all. undefined = not given. */
export function fieldList(parameters: Parameters): readonly string[] | "all" | undefined {
  const given = text(parameters, "fields");
  if (given === undefined) return undefined;
  const list = codes(given);
  return list.includes("*") ? "all" : list;
}

/** `sort`: `col1,a|col2,d`; ascending when no direction is given. @throws Failure bad_request */
export function sortKeys(parameters: Parameters): { readonly code: string; readonly descending: boolean }[] {
  return (parameters.get("sort") ?? "")
    .split("|")
    .filter((term) => term.trim() !== "")
    .map((term) => {
      const comma = term.lastIndexOf(",");
      if (comma < 0) return { code: term.trim(), descending: false };
      const direction = term.slice(comma + 1).trim();
      if (!["", "a", "d"].includes(direction)) throw badRequest("A direction in sort must be a or d.");
      return { code: term.slice(0, comma).trim(), descending: direction === "d" };
    });
}

const decimal = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/**
 * `fbbox`: `SW_LAT,SW_LON,NE_LAT,NE_LON` in `bboxSR` (in 3857 likewise y, x), as degrees; west > east crosses the
 * antimeridian. @throws Failure bad_request
 */
export function filterBox(parameters: Parameters, system: 4326 | 3857): GeoEnvelope | undefined {
  const given = text(parameters, "fbbox");
  if (given === undefined) return undefined;
  const numbers = given.split(",").map((part) => (decimal.test(part) ? Number(part) : Number.NaN));
  if (numbers.length !== 4 || !numbers.every(Number.isFinite)) {
    throw badRequest("fbbox must be four numbers: SW_LAT,SW_LON,NE_LAT,NE_LON.");
  }
  let [south, west, north, east] = numbers as [number, number, number, number];
  if (system === 3857) {
    // Beyond some fifty times the square's height there is nothing but the poles.
    const least = (metres: number) => Math.max(-1e9, Math.min(1e9, metres));
    if (Math.max(Math.abs(west), Math.abs(east)) > 4 * mercatorHalf)
      throw badRequest("fbbox lies outside of EPSG:3857.");
    [west, south] = toDegrees(west, least(south));
    [east, north] = toDegrees(east, least(north));
  } else if (
    Math.max(Math.abs(west), Math.abs(east)) > 720 ||
    Math.max(Math.abs(south), Math.abs(north)) > 720
  ) {
    throw badRequest("fbbox lies outside of EPSG:4326.");
  }
  if (south > north) throw badRequest("fbbox must begin with its south-west corner.");
  return { west, south, east, north };
}

/** Zoom for simplification. @throws Failure bad_request */
export const zoomLevel = (parameters: Parameters): number | undefined =>
  integer(parameters, "geomZoom", { least: 0, most: 30 });

/** An object's id in a path. @throws Failure bad_request */
export function objectId(segment: string | undefined): number {
  const id = segment !== undefined && /^-?\d{1,16}$/.test(segment) ? Number(segment) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw badRequest("The id of an object must be a whole number.");
  return id;
}
