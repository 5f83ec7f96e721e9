import { existsSync, readFileSync } from "node:fs";
import type { NewColumn } from "../catalog/columns.js";
import { createLayer } from "../catalog/layers.js";
import { createMap } from "../catalog/maps.js";
import { readWater } from "../hosts/water.js";
import { type BaseMapLooks, baseMapCode } from "../tiles/base-map.js";
import { cities } from "./cities.js";
import { importRows, importWritten, type LoadDependencies, row } from "./features.js";
import { exclusively } from "./lock.js";
import { hasOtherNames, otherNamesFor } from "./other-names.js";
import { nameProperties } from "./town-names.js";
import { borderLines, landPieces } from "./world.js";

/** The base map that comes with the program: land, lakes, rivers, borders and names of towns under all maps. */

/** Changes with the data, so that an installation gets the new ones. */
const dataset = "natural-earth-10m-3";
/** The same with names of towns in all `languages`. Without the system's translations there are only those in English. */
const translated = `${dataset}-translated`;

/** The main one, and those whose letters the font of the names has: no Chinese, Hindi, Japanese, Korean, Thai or Urdu. */
const languages =
  "en de fr es it pt nl pl cs sk hu ro sv fi da hr ru uk sr bg el tr ar he fa lt lv et ca be ka hy id".split(
    " ",
  );

const style = (name: string): string => readFileSync(new URL(`./base/${name}.mss`, import.meta.url), "utf8");

/** GSHHG of Debian's package gmt-gshhg-high. */
const water = {
  rivers: "/usr/share/gmt-gshhg/binned_river_h.nc",
  lakes: "/usr/share/gmt-gshhg/binned_GSHHS_h.nc",
} as const;
const hasWater = (): boolean => Object.values(water).every((path) => existsSync(path));

/** Towns that have no room for a name before this zoom are left out: the shapes around them are coarse there. */
const lastRank = 8;

/** @param inLanguages those of the project */
type Load = (deps: LoadDependencies, layerId: number, inLanguages: readonly string[]) => Promise<unknown>;
const language = "en";

const loadWater =
  (what: keyof typeof water): Load =>
  (deps, layerId) =>
    importWritten(deps, { layerId, language }, (target) =>
      readWater(deps, { source: water[what], what, target }),
    );

const columns: Readonly<Record<string, readonly NewColumn[]>> = {
  places: [{ code: "name", type: "string", localizedValue: true }],
};

/** From the top of the tree to its bottom. */
const layers: Readonly<Record<string, Load>> = {
  places: (deps, layerId, inLanguages) =>
    importRows(
      deps,
      { layerId, language },
      cities(otherNamesFor(deps))
        .filter(({ rank }) => rank <= lastRank)
        .map(({ name, translations, rank, population, geometry }) =>
          row(
            {
              ...nameProperties(name, translations, inLanguages),
              ...{ rank, weight: population >= 1_000_000 ? 2 : population >= 100_000 ? 1 : 0 },
            },
            geometry,
          ),
        ),
    ),
  borders: (deps, layerId) =>
    importRows(
      deps,
      { layerId, language },
      borderLines("10m").map((line) => row(null, line)),
    ),
  rivers: loadWater("rivers"),
  lakes: loadWater("lakes"),
  land: (deps, layerId) =>
    importRows(
      deps,
      { layerId, language },
      landPieces("10m").map((piece) => row(null, piece)),
    ),
};

/** Without these there is no map to look at. */
export const groundLayers: readonly string[] = ["land", "borders"];

/**
 * Loads the layers of the base map that are empty, whose kind is unknown; a base map of another version is replaced.
 * @returns whether it has all its layers now
 */
export async function ensureBaseMap(
  deps: LoadDependencies,
  progress: (text: string) => void,
  wanted: readonly string[] = Object.keys(layers).reverse(),
): Promise<boolean> {
  return exclusively(deps, "base map", async () => {
    const map = (await present(deps)) ?? (await create(deps));
    const all = await deps.db.query<{ id: number; code: string; languages: string[] }>(
      `select n.id, n.code, p.languages from node n join layer using (id) join map m on m.id = n.map_id
       join project p on p.id = m.project_id
       where map_id = $1 and geometry_kind = 'Unknown' order by array_position($2, n.code)`,
      [map, wanted],
    );
    const empty = all.filter(({ code }) => wanted.includes(code));
    const loaded = empty.filter(({ code }) => !(code in water) || hasWater());
    if (loaded.length > 0) progress(`Loading the base map: ${loaded.map(({ code }) => code).join(", ")} …`);
    for (const { id, code, languages } of loaded) await layers[code]!(deps, id, languages);
    if (loaded.length < empty.length)
      progress(
        "The base map has no lakes and rivers: install the system's package gmt-gshhg-high, and start again.",
      );
    return loaded.length === all.length;
  });
}

/**
 * The map, with styles of this version, since they belong to the program; one with other data is deleted, and one in a single
 * language when there are translations now.
 */
async function present({ db, translations }: LoadDependencies): Promise<number | undefined> {
  const [found] = await db.query<{ map: number; dataset: string | null }>(
    `select m.id as map, m.json ->> 'dataset' as dataset
     from project p left join map m on m.project_id = p.id and m.code = $2 where p.code = $1`,
    [baseMapCode.project, baseMapCode.map],
  );
  const isCurrent =
    found?.dataset === translated || (found?.dataset === dataset && !hasOtherNames(translations));
  if (!isCurrent) {
    await db.execute("delete from project where code = $1", [baseMapCode.project]);
    return undefined;
  }
  await db.execute(
    "update map set css_style = $2, json = $3 where id = $1 and (css_style <> $2 or json <> $3::jsonb)",
    [found.map, style("light"), settings(found.dataset!)],
  );
  for (const code of Object.keys(layers))
    await db.execute("update node set css_style = $3 where map_id = $1 and code = $2 and css_style <> $3", [
      found.map,
      code,
      style(code),
    ]);
  return found.map;
}

/** The map with its layers, which are empty. */
async function create({ db, translations }: LoadDependencies): Promise<number> {
  const isTranslated = hasOtherNames(translations);
  const [project] = await db.query<{ id: number }>(
    `insert into project (code, name, languages, base_map, hidden)
     values ($1, 'Base map', $2, '{"kind":"none"}', true) returning id`,
    [baseMapCode.project, isTranslated ? languages : [language]],
  );
  const map = await createMap(db, project!.id, { code: baseMapCode.map, cssStyle: style("light") });
  for (const code of Object.keys(layers))
    await createLayer(db, map, { code, cssStyle: style(code), columns: columns[code] });
  // Last, since it marks the map as one that has its layers.
  await db.execute("update map set json = $2 where id = $1", [
    map,
    settings(isTranslated ? translated : dataset),
  ]);
  return map;
}

function settings(dataset: string): string {
  const looks: BaseMapLooks = {
    muted: { cssStyle: style("muted"), without: ["places"] },
    dark: { cssStyle: style("dark"), without: [] },
  };
  return JSON.stringify({ dataset, looks });
}
