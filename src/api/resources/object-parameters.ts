import { z } from "zod";
import type { MapState } from "../../catalog/state.js";
import { badRequest } from "../../errors.js";
import type { Languages } from "../../features/column-sql.js";
import type { GeometryShape } from "../../features/geometry-sql.js";
import { type GeoEnvelope, toDegrees } from "../../geo/envelope.js";
import { mercatorHalf } from "../../geo/tile.js";
import { flag, integer, list, srid, text } from "../request/schema/parameters.js";
import { failing, type Values } from "../request/schema/schema.js";

/** Common parameters of object requests. */

/** Options for geometries and bounding boxes. */
export const geometryParameters = {
  returnGeom: flag("Whether to include geometries, as GeoJSON."),
  geomSR: srid("Coordinate system (EPSG) of geometries in requests and responses."),
  geomZoom: integer(
    "Zoom level to simplify lines and polygons for, which removes heights; default: not simplified.",
    { least: 0, most: 30 },
  ).optional(),
  returnCentroid: flag(
    "With returnGeom: return a point on the object, without height, instead of its geometry.",
  ),
  returnBbox: flag("Whether to include bounding boxes."),
  bboxSR: srid("Coordinate system (EPSG) of fbbox and of bounding boxes in responses."),
};

export function geometryShape(
  parameters: Pick<Values<typeof geometryParameters>, "geomSR" | "geomZoom" | "returnCentroid">,
): GeometryShape {
  return {
    srid: parameters.geomSR,
    zoom: parameters.geomZoom,
    centroid: parameters.returnCentroid,
  };
}

/** More than the number of columns that a layer can have. */
const maxFields = 2_000;
const maxSortTerms = 100;

/** `fields`: column codes; `*` = all. undefined = not given. Else a bad request. */
export const fieldsParameter = list({ separator: ",", most: maxFields })
  .transform((parts): readonly string[] | "all" => {
    const codes = parts.map((code) => code.trim());
    return codes.includes("*") ? "all" : codes.filter(Boolean);
  })
  .meta({
    description: "Codes of the columns to return, separated by commas; `*` for all.",
    examples: ["*", "name,height"],
  })
  .optional();

/** `sort`: `col1,a|col2,d`; ascending when no direction is given. Else a bad request. */
export const sortParameter = list({ separator: "|", most: maxSortTerms })
  .transform((terms) => terms.filter((term) => term.trim() !== "").map(sortTerm))
  .refine(
    (terms) => terms.every(({ direction }) => ["", "a", "d"].includes(direction)),
    failing(() => badRequest("A direction in sort must be a or d.")),
  )
  .transform((terms) => terms.map(({ code, direction }) => ({ code, descending: direction === "d" })))
  .meta({
    description: "Sort order, for example `col1,a|col2,d`: a = ascending (default), d = descending.",
    examples: ["name,a|height,d"],
  })
  .optional();

function sortTerm(term: string): { readonly code: string; readonly direction: string } {
  const comma = term.lastIndexOf(",");
  if (comma < 0) return { code: term.trim(), direction: "" };
  return { code: term.slice(0, comma).trim(), direction: term.slice(comma + 1).trim() };
}

type FourNumbers = [south: number, west: number, north: number, east: number];
const decimal = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;
/** Longer numbers are refused without parsing. */
const maxDigits = 100;

/** `fbbox`: four numbers. Else a bad request. */
export const boxParameter = z
  .string()
  .transform((given) =>
    given
      .split(",", 5)
      .map((part) => (part.length <= maxDigits && decimal.test(part) ? Number(part) : Number.NaN)),
  )
  .refine(
    (numbers): numbers is FourNumbers => numbers.length === 4 && numbers.every(Number.isFinite),
    "must be four numbers: SW_LAT,SW_LON,NE_LAT,NE_LON",
  )
  .meta({
    description:
      "`SW_LAT,SW_LON,NE_LAT,NE_LON` in bboxSR (in 3857: y, x): only objects whose geometry intersects this box. " +
      "If west is greater than east, the box crosses the antimeridian.",
    examples: ["47.2,5.8,55.1,15.1"],
  })
  .optional();

/** The box in degrees. @throws Failure bad_request when it is outside of its coordinate system, or south > north */
export function filterBox(box: FourNumbers | undefined, system: 4326 | 3857): GeoEnvelope | undefined {
  if (!box) return undefined;
  let [south, west, north, east] = box;
  if (system === 3857) {
    // Beyond some fifty times the height of the Mercator square, latitude is 90° in double precision.
    const clamp = (metres: number) => Math.max(-1e9, Math.min(1e9, metres));
    if (Math.max(Math.abs(west), Math.abs(east)) > 4 * mercatorHalf)
      throw badRequest("fbbox lies outside of EPSG:3857.");
    [west, south] = toDegrees(west, clamp(south));
    [east, north] = toDegrees(east, clamp(north));
  } else if (
    Math.max(Math.abs(west), Math.abs(east)) > 720 ||
    Math.max(Math.abs(south), Math.abs(north)) > 720
  ) {
    throw badRequest("fbbox lies outside of EPSG:4326.");
  }
  if (south > north) throw badRequest("fbbox must begin with its south-west corner.");
  return { west, south, east, north };
}

/** `lng`, where it applies to values, not only to names. */
export const languageParameter = text(
  "Language of localised values, which are null if they have no value in it; default: the main language.",
  100,
).optional();

/** @param language that of the request; undefined = the main one */
export function languagesOf(map: MapState, language: string | undefined): Languages {
  const main = map.project.languages[0];
  return { own: language ?? main, main };
}
