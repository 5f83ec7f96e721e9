import type { GeometryTypeName } from "./flatgeobuf.js";
import type { Survey } from "./survey.js";

/** The metadata of a GeoParquet file (geoparquet.org, 1.1.0), which its key `geo` has as JSON. */

/** Name of the column with the geometry. */
export const geometryColumn = "geometry";

export function geoMetadata({ geometries, extent, heights }: Survey, srid: 4326 | 3857): string {
  const types = geometries
    .filter(({ type }) => type !== "Unknown")
    .map(({ type, hasZ }): `${GeometryTypeName}${"" | " Z"}` => `${type}${hasZ ? " Z" : ""}`);
  const [west, south, east, north] = extent ?? [];
  const bbox = heights ? [west, south, heights[0], east, north, heights[1]] : [west, south, east, north];
  return JSON.stringify({
    version: "1.1.0",
    primary_column: geometryColumn,
    columns: {
      [geometryColumn]: {
        encoding: "WKB",
        geometry_types: [...new Set(types)].sort(),
        ...(extent ? { bbox } : {}),
        // Without a system it is OGC:CRS84: longitude and latitude.
        ...(srid === 3857 ? { crs: webMercator } : {}),
      },
    },
  });
}

const unitDegree = { unit: "degree" };
const parameter = (code: number, name: string, unit: "degree" | "metre") => ({
  name,
  value: 0,
  unit,
  id: { authority: "EPSG", code },
});

/** EPSG:3857 as PROJJSON. */
const webMercator = {
  $schema: "https://proj.org/schemas/v0.5/projjson.schema.json",
  type: "ProjectedCRS",
  name: "WGS 84 / Pseudo-Mercator",
  base_crs: {
    name: "WGS 84",
    datum: {
      type: "GeodeticReferenceFrame",
      name: "World Geodetic System 1984",
      ellipsoid: { name: "WGS 84", semi_major_axis: 6378137, inverse_flattening: 298.257223563 },
    },
    coordinate_system: {
      subtype: "ellipsoidal",
      axis: [
        { name: "Geodetic latitude", abbreviation: "Lat", direction: "north", ...unitDegree },
        { name: "Geodetic longitude", abbreviation: "Lon", direction: "east", ...unitDegree },
      ],
    },
    id: { authority: "EPSG", code: 4326 },
  },
  conversion: {
    name: "Popular Visualisation Pseudo-Mercator",
    method: { name: "Popular Visualisation Pseudo Mercator", id: { authority: "EPSG", code: 1024 } },
    parameters: [
      parameter(8801, "Latitude of natural origin", "degree"),
      parameter(8802, "Longitude of natural origin", "degree"),
      parameter(8806, "False easting", "metre"),
      parameter(8807, "False northing", "metre"),
    ],
  },
  coordinate_system: {
    subtype: "Cartesian",
    axis: [
      { name: "Easting", abbreviation: "X", direction: "east", unit: "metre" },
      { name: "Northing", abbreviation: "Y", direction: "north", unit: "metre" },
    ],
  },
  id: { authority: "EPSG", code: 3857 },
};
