import { join } from "node:path";
import { type Context, fullSize, smallSize } from "./context.js";
import { packagedWorld, placesOf } from "./data.js";
import { importMap } from "./import.js";
import { cachedTile } from "./measures/cached.js";
import { catalogByHttp } from "./measures/catalog.js";
import { oneRender } from "./measures/coalesce.js";
import { coldTiles } from "./measures/cold.js";
import { createdByHttp } from "./measures/create.js";
import { objectsByHttp } from "./measures/objects.js";
import { tileFromRedis } from "./measures/redis.js";
import { searchNames } from "./measures/search.js";
import { type Options, wanted } from "./options.js";
import type { Row } from "./report.js";
import { viewports } from "./viewports.js";
import { startWorld, type World } from "./world.js";

/** The measures over the data that the product comes with. */

const measures: Readonly<Record<string, (context: Context) => Promise<Row[]>>> = {
  cached: cachedTile,
  redis: tileFromRedis,
  cold: coldTiles,
  once: oneRender,
  objects: objectsByHttp,
  catalog: catalogByHttp,
  create: createdByHttp,
  search: searchNames,
};

export type BenchOptions = Pick<Options, "small" | "only" | "work"> & {
  readonly progress: (text: string) => void;
};

/** Runs the measures on services and data of their own. */
export async function bench(options: BenchOptions): Promise<Row[]> {
  const chosen = Object.entries(measures).filter(([name]) => wanted(options, name));
  if (chosen.length === 0) return [];
  const world = await startWorld(
    options.work === undefined ? {} : { folder: join(options.work, "packaged") },
  );
  try {
    const context = await prepare(world, options);
    const rows: Row[] = [];
    for (const [name, measure] of chosen) {
      options.progress(`measuring: ${name}`);
      rows.push(...(await measure(context)));
    }
    return rows;
  } finally {
    await world.stop();
  }
}

async function prepare(world: World, options: BenchOptions): Promise<Context> {
  const files = await packagedWorld(world.folder, options.small);
  await importMap(world, files, options.progress);
  const places = await placesOf(files.layers[0]!.path);
  return {
    world,
    tiles: (count, seed) => viewports(places, count, seed),
    size: options.small ? smallSize : fullSize,
  };
}
