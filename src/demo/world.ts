import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Geometry, MultiPolygon, Polygon, Position } from "geojson";
import { feature, mesh, neighbors } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import { cutAtAntimeridian } from "./antimeridian.js";

/**
 * Countries, land and borders of Natural Earth, as the package world-atlas has them.
 *
 * It is read when a server fills its database, as the towns are, and nothing is made of it by the build: not only the demo but the
 * base map of every installation is made of it. Made ahead it would be 72 MB of JSON (17 MB compressed), beside 14 MB of
 * packages, and each build would take 12 seconds longer. An installation is a checkout that builds itself, so that packages
 * which only the build uses are there as well.
 */

const require = createRequire(import.meta.url);

type Atlas = Topology<{
  countries: GeometryCollection<{ name: string }>;
  land: GeometryCollection;
}>;

/** 1:10 million for all zooms, 1:50 million for a look at the whole. */
export type Resolution = "10m" | "50m";

export interface Country {
  /** In English, some shortened. */
  readonly name: string;
  /** ISO 3166-1 alpha-2; undefined for territories without one. */
  readonly iso: string | undefined;
  readonly squareKilometres: number;
  /** 1 to 6; neighbours differ. */
  readonly tint: number;
  readonly geometry: MultiPolygon;
}

const tints = 6;

const readAtlas = (resolution: Resolution): Atlas =>
  JSON.parse(readFileSync(require.resolve(`world-atlas/countries-${resolution}.json`), "utf8")) as Atlas;

/** Every country, the largest first, so that its name is placed before its neighbours'. */
export function countries(resolution: Resolution): Country[] {
  const atlas = readAtlas(resolution);
  const tint = tintsOf(atlas.objects.countries);
  return feature(atlas, atlas.objects.countries)
    .features.map(({ id, properties, geometry }, index): Country => {
      const iso = id === undefined ? undefined : alpha2(String(id));
      const shape = polygons(geometry);
      return {
        name: properties.name,
        iso,
        squareKilometres: Math.round(area(shape)),
        tint: tint[index]!,
        geometry: { type: "MultiPolygon", coordinates: shape.map((piece) => piece.coordinates) },
      };
    })
    .sort((a, b) => b.squareKilometres - a.squareKilometres);
}

/** The land, one polygon a piece. */
export function landPieces(resolution: Resolution): Polygon[] {
  const atlas = readAtlas(resolution);
  return feature(atlas, atlas.objects.land).features.flatMap(({ geometry }) => polygons(geometry));
}

/** Borders between countries, each once and without the coasts. */
export function borderLines(resolution: Resolution): Geometry[] {
  const atlas = readAtlas(resolution);
  return mesh(atlas, atlas.objects.countries, (a, b) => a !== b).coordinates.map((coordinates) => ({
    type: "LineString",
    coordinates,
  }));
}

/** The polygons of a geometry, cut where the map ends. */
function polygons(geometry: Geometry): Polygon[] {
  const parts =
    geometry.type === "MultiPolygon"
      ? geometry.coordinates
      : geometry.type === "Polygon"
        ? [geometry.coordinates]
        : [];
  return parts.flatMap(cutAtAntimeridian).map((coordinates) => ({ type: "Polygon", coordinates }));
}

/** Tints for a map on which neighbours differ: those with the most neighbours choose first. */
function tintsOf(collection: Atlas["objects"]["countries"]): number[] {
  const near = neighbors(collection.geometries);
  const order = near.map((_, index) => index).sort((a, b) => near[b]!.length - near[a]!.length || a - b);
  const chosen = new Array<number>(near.length).fill(0);
  const used = new Array<number>(tints + 1).fill(0);
  for (const index of order) {
    const taken = new Set(near[index]!.map((other) => chosen[other]!));
    let best = 1;
    for (let tint = 1; tint <= tints; tint++) {
      const better = taken.has(best) || used[tint]! < used[best]!;
      if (!taken.has(tint) && better) best = tint;
    }
    chosen[index] = best;
    used[best]!++;
  }
  return chosen;
}

/** ISO 3166-1 numeric (which world-atlas uses) to alpha-2: Unicode's canonical form of a region. */
function alpha2(numeric: string): string | undefined {
  const region = /^\d{3}$/.test(numeric) ? new Intl.Locale(`und-${numeric}`).region : undefined;
  return region !== undefined && /^[A-Z]{2}$/.test(region) ? region : undefined;
}

const regionNames = new Map<string, Intl.DisplayNames>();

/** The name of a country. @param iso ISO 3166-1 alpha-2; undefined = it has none in that language */
export function regionName(language: string, iso: string): string | undefined {
  let names = regionNames.get(language);
  if (!names) {
    names = new Intl.DisplayNames(language, { type: "region", fallback: "none" });
    regionNames.set(language, names);
  }
  return names.of(iso);
}

const earthRadiusKm = 6371.0088;

/** Square kilometres on the sphere (Chamberlain and Duquette, JPL Publication 07-03, 2007). */
function area(pieces: readonly Polygon[]): number {
  return pieces.reduce(
    (sum, { coordinates: [outer, ...holes] }) =>
      sum + Math.abs(ringArea(outer!)) - holes.reduce((inner, hole) => inner + Math.abs(ringArea(hole)), 0),
    0,
  );
}

function ringArea(ring: readonly Position[]): number {
  let sum = 0;
  for (let index = 1; index < ring.length; index++) {
    const [lon1, lat1] = ring[index - 1] as [number, number];
    const [lon2, lat2] = ring[index] as [number, number];
    sum += radians(lon2 - lon1) * (2 + Math.sin(radians(lat1)) + Math.sin(radians(lat2)));
  }
  return (sum * earthRadiusKm ** 2) / 2;
}

const radians = (degrees: number): number => (degrees * Math.PI) / 180;
