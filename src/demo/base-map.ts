import { readFileSync } from "node:fs";
import { createLayer } from "../catalog/layers.js";
import { createMap } from "../catalog/maps.js";
import { baseMapCode } from "../tiles/planner.js";
import { importRows, type LoadDependencies, row } from "./features.js";
import { exclusively } from "./lock.js";
import { borderLines, landPieces } from "./world.js";

/** The base map that comes with the program: land, coasts and borders under all maps. */

/** Changes with the data, so that an installation gets the new ones. */
const dataset = "natural-earth-10m-1";

const style = (name: string): string => readFileSync(new URL(`./${name}.mss`, import.meta.url), "utf8");

/** Loads the base map unless it is there; one of another version, or half of one, is replaced. */
export async function ensureBaseMap(deps: LoadDependencies, progress: (text: string) => void): Promise<void> {
  await exclusively(deps.db, "base map", async () => {
    const { db } = deps;
    const [present] = await db.query<{ map: number | null; dataset: string | null }>(
      `select m.id as map, m.json ->> 'dataset' as dataset
       from project p left join map m on m.project_id = p.id and m.code = $2 where p.code = $1`,
      [baseMapCode.project, baseMapCode.map],
    );
    if (present?.dataset === dataset) return updateStyles(deps, present.map!);
    if (present) await db.execute("delete from project where code = $1", [baseMapCode.project]);

    progress("Loading the base map …");
    const [project] = await db.query<{ id: number }>(
      `insert into project (code, name, languages, base_map, hidden)
       values ($1, 'Base map', '{en}', '{"kind":"none"}', true) returning id`,
      [baseMapCode.project],
    );
    const map = await createMap(db, project!.id, { code: baseMapCode.map, cssStyle: style("base-map") });
    const borders = await createLayer(db, map, { code: "borders", cssStyle: style("base-borders") });
    const land = await createLayer(db, map, { code: "land", cssStyle: style("base-land") });
    const language = "en";
    await importRows(
      deps,
      { layerId: land.id, language },
      landPieces("10m").map((piece) => row(null, piece)),
    );
    await importRows(
      deps,
      { layerId: borders.id, language },
      borderLines("10m").map((line) => row(null, line)),
    );
    // Last, since it marks the base map as complete.
    await db.execute("update map set json = $2 where id = $1", [map, JSON.stringify({ dataset })]);
  });
}

/** Styles belong to the program, so they are those of its version. */
async function updateStyles({ db }: LoadDependencies, map: number): Promise<void> {
  await db.execute("update map set css_style = $2 where id = $1 and css_style <> $2", [
    map,
    style("base-map"),
  ]);
  for (const code of ["borders", "land"]) {
    await db.execute("update node set css_style = $3 where map_id = $1 and code = $2 and css_style <> $3", [
      map,
      code,
      style(`base-${code}`),
    ]);
  }
}
