import gdal from "gdal-async";
import type { LineString, Polygon, Position } from "geojson";
import { joinLines, joinRings, type Line } from "./joined-lines.js";

/**
 * Rivers and lakes of GSHHG, as Debian's package gmt-gshhg-high has them: netCDF files in which lines are cut into bins of a
 * few degrees, each with its own origin at the south-west (GMT's gmt_shore.c reads the same).
 */

export interface River {
  /** 1 = wide or main rivers to 4 = minor ones. */
  readonly rank: number;
  readonly geometry: LineString;
}

export interface Lake {
  readonly squareKilometres: number;
  readonly geometry: Polygon;
}

/** Steps of a coordinate in a bin; both edges belong to it, so that lines of neighbours meet in equal numbers. */
const steps = 65_535;
/** GSHHG's levels of rivers: 0 and 1 are wide and main ones, to 4 minor; above are wadis and canals. */
const lastRiverLevel = 4;
const lakeLevel = 2;
const islandLevel = 3;
/** GSHHG has the Caspian as a lake; Natural Earth's land leaves it out already. */
const largestLake = 300_000;
/** Smaller ponds are below a pixel at the zooms up to 10. */
const smallestLake = 0.5;
const smallestIsland = 2;

/** Flowing water, joined across bins. */
export function rivers(path: string): River[] {
  const file = openBins(path);
  const levels = file.numbers("Hierarchial_level_of_a_segment");
  const counts = file.numbers("N_points_for_a_segment");
  const byRank = new Map<number, Line[]>();
  for (const { segment, line } of file.lines((index) => counts[index]! & 0xffff)) {
    if (levels[segment]! > lastRiverLevel) continue;
    const rank = Math.max(1, levels[segment]!);
    const lines = byRank.get(rank);
    if (lines) lines.push(line);
    else byRank.set(rank, [line]);
  }
  return [...byRank].flatMap(([rank, lines]) =>
    joinLines(lines).flatMap((line) => {
      const coordinates = file.positions(line);
      return coordinates ? [{ rank, geometry: { type: "LineString" as const, coordinates } }] : [];
    }),
  );
}

/** Lakes with their islands, the largest first. */
export function lakes(path: string): Lake[] {
  const file = openBins(path);
  const embedded = file.numbers("Embedded_npts_levels_exit_entry_for_a_segment");
  const polygonOf = file.numbers("Id_of_GSHHS_ID");
  const areas = file.numbers("The_km_squared_area_of_polygons");
  const parents = file.numbers("Id_of_parent_polygons");
  const shores = new Map<number, Line[]>();
  const islands = new Map<number, number[]>();
  for (const { segment, line } of file.lines((index) => embedded[index]! >>> 9)) {
    const level = (embedded[segment]! >> 6) & 7;
    const id = polygonOf[segment]!;
    const area = Math.abs(areas[id]!);
    if (level === lakeLevel ? area < smallestLake || area > largestLake : area < smallestIsland) continue;
    if (level !== lakeLevel && level !== islandLevel) continue;
    const lines = shores.get(id);
    if (lines) lines.push(line);
    else {
      shores.set(id, [line]);
      if (level === islandLevel) islands.set(parents[id]!, [...(islands.get(parents[id]!) ?? []), id]);
    }
  }
  const inLakes = new Set([...islands.values()].flat());
  const ringsOf = (id: number): Position[][] =>
    joinRings(shores.get(id) ?? []).flatMap((ring) => {
      const positions = file.positions(ring);
      return positions ? [positions] : [];
    });
  return [...shores.keys()]
    .filter((id) => !inLakes.has(id))
    .flatMap((id) => {
      const [outer] = ringsOf(id);
      if (!outer) return [];
      const holes = (islands.get(id) ?? []).flatMap(ringsOf);
      return [
        {
          squareKilometres: Math.abs(areas[id]!),
          geometry: { type: "Polygon" as const, coordinates: [outer, ...holes] },
        },
      ];
    })
    .sort((a, b) => b.squareKilometres - a.squareKilometres);
}

interface Bins {
  numbers(name: string): ArrayLike<number>;
  /** Every line, in steps from the south-west of the world at longitude 0. */
  lines(pointsOf: (segment: number) => number): Iterable<{ readonly segment: number; readonly line: Line }>;
  /** Degrees; undefined where the line crosses the antimeridian. */
  positions(line: Line): Position[] | undefined;
}

function openBins(path: string): Bins {
  const { root } = gdal.open(path, "mr") as unknown as { readonly root: gdal.Group };
  const numbers = (name: string): ArrayLike<number> => {
    const array = root.arrays.get(name);
    const span = array.dimensions.map(({ size }) => size);
    return array.read({ origin: span.map(() => 0), span }) as unknown as ArrayLike<number>;
  };
  const columns = numbers("N_bins_in_360_longitude_range")[0]!;
  const rows = numbers("N_bins_in_180_degree_latitude_range")[0]!;
  const around = columns * steps;
  const degrees = 360 / around;
  return {
    numbers,
    *lines(pointsOf) {
      const [firstSegment, segments] = [
        numbers("Id_of_first_segment_in_a_bin"),
        numbers("N_segments_in_a_bin"),
      ];
      const firstPoint = numbers("Id_of_first_point_in_a_segment");
      const [x, y] = [
        numbers("Relative_longitude_from_SW_corner_of_bin"),
        numbers("Relative_latitude_from_SW_corner_of_bin"),
      ];
      for (let bin = 0; bin < firstSegment.length; bin++) {
        const west = (bin % columns) * steps;
        const south = (rows - 1 - Math.floor(bin / columns)) * steps;
        const end = firstSegment[bin]! + (segments[bin]! & 0xffff);
        for (let segment = firstSegment[bin]!; segment < end; segment++) {
          const line = Array.from({ length: pointsOf(segment) }, (_, index): [number, number] => {
            const point = firstPoint[segment]! + index;
            return [(west + (x[point]! & 0xffff)) % around, south + (y[point]! & 0xffff)];
          });
          yield { segment, line };
        }
      }
    },
    positions(line) {
      const found: Position[] = [];
      for (const [x, y] of line) {
        const lon = x * degrees;
        const east = lon > 180 ? lon - 360 : lon;
        const last = found.at(-1);
        if (last && Math.abs(last[0]! - east) > 180) return undefined;
        found.push([round(east), round(y * degrees - 90)]);
      }
      return found;
    },
  };
}

/** Some ten metres, finer than the data. */
const round = (degrees: number): number => Math.round(degrees * 10_000) / 10_000;
