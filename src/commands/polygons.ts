import { toMercator } from "../geo/envelope.js";
import { type Region, regionOfPolygons } from "../geo/region.js";
import { clampLatitude } from "../geo/tile-area.js";
import { CommandError } from "./environment.js";

/** The polygons of a GeoJSON document (RFC 7946): of a geometry, a feature or a collection. @throws CommandError */
export function polygonsOf(name: string, text: string): Region {
  const polygons: (readonly [number, number])[][][] = [];
  const wrong = () => new CommandError(`${name} is no GeoJSON with polygons in degrees.`);
  const ring = (positions: unknown): (readonly [number, number])[] => {
    if (!Array.isArray(positions)) throw wrong();
    return positions.map((position: unknown) => {
      const [lon, lat] = Array.isArray(position) ? position : [];
      if (!(Math.abs(lon) <= 720 && Math.abs(lat) <= 90)) throw wrong();
      return toMercator(lon, clampLatitude(lat));
    });
  };
  const polygon = (rings: unknown): void => {
    if (!Array.isArray(rings)) throw wrong();
    polygons.push(rings.map(ring));
  };
  const visit = (node: unknown): void => {
    const { type, ...rest } = (node ?? {}) as Record<string, unknown>;
    const parts = rest.features ?? rest.geometries;
    if (type === "Feature") visit(rest.geometry);
    else if (type === "Polygon") polygon(rest.coordinates);
    else if (type === "MultiPolygon" && Array.isArray(rest.coordinates)) rest.coordinates.forEach(polygon);
    else if (Array.isArray(parts)) parts.forEach(visit);
    else throw wrong();
  };
  try {
    visit(JSON.parse(text.replace(/^\ufeff/, "")));
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong();
    throw error;
  }
  if (polygons.length === 0) throw wrong();
  return regionOfPolygons(polygons);
}
