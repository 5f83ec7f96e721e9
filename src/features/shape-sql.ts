import { failed } from "../errors.js";

/** SQL that splitting and merging of objects share. */

/** Of a geometry, repaired where it is invalid: PostGIS neither splits nor merges invalid ones. */
export const validSql = (geometry: string): string =>
  `case when st_isvalid(${geometry}) then ${geometry} else repaired(${geometry}) end`;

/** Whether some height of a geometry is not known, because PostGIS has made a vertex where it knows of none. */
export const lacksHeightSql = (geometry: string): string =>
  `(st_zmflag(${geometry}) = 2 and strpos(st_astext(${geometry}), 'NaN') > 0)`;

/** @throws Failure invalid_value for what PostGIS itself cannot do; else the error itself */
export function shapeFailed(error: unknown): never {
  // XX000 internal_error: how PostGIS reports that GEOS has failed
  if ((error as { code?: unknown }).code !== "XX000") throw error;
  const failure = failed("invalid_value", "PostGIS cannot do this with the geometry that is there.", {
    parameter: "geom",
  });
  failure.cause = error;
  throw failure;
}
