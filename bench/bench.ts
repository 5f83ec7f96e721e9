import { join } from "node:path";
import { requireBuild } from "./against/build.js";
import { againstMeasures, withBuilds } from "./against/compare.js";
import { type Context, fullSize, type Size, smallSize } from "./context.js";
import { packagedWorld, placesOf } from "./data.js";
import { importMap } from "./import.js";
import { cachedTile } from "./measures/cached.js";
import { catalogByHttp } from "./measures/catalog.js";
import { oneRender } from "./measures/coalesce.js";
import { coldTiles } from "./measures/cold.js";
import { createdByHttp } from "./measures/create.js";
import { edge } from "./measures/edge.js";
import { exports } from "./measures/exports.js";
import { attacked } from "./measures/hostile.js";
import { imports } from "./measures/imports.js";
import { keyedTile } from "./measures/keys.js";
import { largeLayers } from "./measures/large.js";
import { listsByHttp } from "./measures/lists.js";
import { liveEdits } from "./measures/live.js";
import { objectsByHttp } from "./measures/objects.js";
import { firstPictures } from "./measures/pages.js";
import { tileFromRedis } from "./measures/redis.js";
import { searchNames } from "./measures/search.js";
import { vectorTiles } from "./measures/vector.js";
import { visualizations } from "./measures/visuals.js";
import { wideMaps } from "./measures/wide.js";
import { type Options, wanted } from "./options.js";
import type { Row } from "./report.js";
import { sessions } from "./viewers.js";
import { viewports } from "./viewports.js";
import { startWorld, type World } from "./world.js";

/** The measures over the data that the product comes with. */

const measures: Readonly<Record<string, (context: Context) => Promise<Row[]>>> = {
  cached: cachedTile,
  keys: keyedTile,
  redis: tileFromRedis,
  cold: coldTiles,
  vector: vectorTiles,
  once: oneRender,
  objects: objectsByHttp,
  list: listsByHttp,
  catalog: catalogByHttp,
  create: createdByHttp,
  search: searchNames,
  live: liveEdits,
  large: largeLayers,
  imports,
  exports,
  visuals: visualizations,
  wide: wideMaps,
  hostile: attacked,
  pages: firstPictures,
  edge,
};

export type BenchOptions = Pick<Options, "small" | "only" | "work" | "against"> &
  Partial<Pick<Options, "large">> & {
    readonly progress: (text: string) => void;
  };

/** Runs the measures on services and data of their own, beside their references or beside another checkout. */
export async function bench(options: BenchOptions): Promise<Row[]> {
  const { against } = options;
  const names = Object.keys(against === undefined ? measures : againstMeasures);
  const chosen = names.filter((name) => wanted(options, name));
  if (chosen.length === 0) return [];
  if (against !== undefined) requireBuild(against);
  const world = await startWorld(
    options.work === undefined ? {} : { folder: join(options.work, "packaged") },
  );
  try {
    const context = await prepare(world, options);
    const all = async (measure: (name: string) => Promise<Row[]>) => {
      const rows: Row[] = [];
      for (const name of chosen) {
        options.progress(`measuring: ${name}`);
        rows.push(...(await measure(name)));
      }
      return rows;
    };
    if (against === undefined) return await all((name) => measures[name]!(context));
    return await withBuilds(context, against, (sides) => all((name) => againstMeasures[name]!(sides)));
  } finally {
    await world.stop();
  }
}

function sizeOf({ small, large }: Pick<BenchOptions, "small" | "large">): Size {
  const size = small ? smallSize : fullSize;
  return large === undefined ? size : { ...size, large };
}

async function prepare(world: World, options: BenchOptions): Promise<Context> {
  const files = await packagedWorld(world.folder, options.small);
  await importMap(world, files, options.progress);
  const places = await placesOf(files.layers[0]!.path);
  const size = sizeOf(options);
  return {
    world,
    tiles: (count, seed) => viewports(places, count, seed),
    sessions: (seed) => sessions(places, { ...size, seed }),
    size,
  };
}
