import type { Context } from "../context.js";
import { cpuSeconds } from "../cpu.js";
import { haveEmptyBaseMap } from "../empty-base-map.js";
import { withImports } from "../import.js";
import { type LoadRequest, loadCounting } from "../load.js";
import { costFigures } from "../looks.js";
import { typicalTile } from "../measures/cached.js";
import { withColdLooks } from "../measures/cold.js";
import { citiesPath, someCities } from "../measures/objects.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import type { Server } from "../server.js";
import { type Throughput, throughputFigures } from "../throughput.js";
import { kindsOf } from "../viewers.js";
import { ownFolder, startBuild } from "./build.js";

/**
 * This checkout beside another one: what a change does to the speed. Both serve the same data by their own commands,
 * in turns. CPU time is that of a server with all its processes, of PostgreSQL and of Redis.
 */

/** Least ratio. A smaller loss would take more rounds to see than anybody waits for. */
const gate = 0.95;
const connections = 50;

export interface Sides {
  readonly context: Context;
  readonly ours: Server;
  readonly other: Server;
}

export const againstMeasures: Readonly<Record<string, (sides: Sides) => Promise<Row[]>>> = {
  cached: cachedTiles,
  cold: coldTiles,
  objects: singleObjects,
  list: objectLists,
};

/** Gives `work` both servers. */
export async function withBuilds<T>(
  context: Context,
  folder: string,
  work: (sides: Sides) => Promise<T>,
): Promise<T> {
  // Else one of them would load it while both are measured.
  await withImports(context.world, haveEmptyBaseMap);
  const ours = await startBuild(ownFolder, context.world, "bench-ours:");
  try {
    const other = await startBuild(folder, context.world, "bench-other:");
    try {
      return await work({ context, ours, other });
    } finally {
      await other.stop();
    }
  } finally {
    await ours.stop();
  }
}

function inTurns(
  { context, ours, other }: Sides,
  measure: string,
  of: string,
  round: (server: Server) => Promise<Throughput>,
): Promise<Row[]> {
  const figures = throughputFigures(measure, of, { perCpuSecond: gate });
  return compare(context.size, () => round(ours), [() => round(other)], figures);
}

/** Requests for `paths` in turn. */
function loaded(
  sides: Sides,
  measure: string,
  paths: readonly string[],
  how: (server: Server) => Pick<LoadRequest, "status" | "headers"> = () => ({ status: 200 }),
): Promise<Row[]> {
  const { world, size } = sides.context;
  const { seconds } = size;
  return inTurns(sides, measure, "requests", (server) => {
    const { url, pid } = server;
    const cpu = () => cpuSeconds([pid, world.postgresPid, world.redisPid]);
    return loadCounting(cpu, { url, connections, seconds, paths, ...how(server) });
  });
}

async function cachedTiles(sides: Sides): Promise<Row[]> {
  const coords = sides.context.tiles(100, 7);
  const ours = await typicalTile(sides.ours.url, coords);
  const other = await typicalTile(sides.other.url, coords);
  const unchanged = (server: Server) => ({
    status: 304,
    headers: { "if-none-match": server === sides.ours ? ours.etag : other.etag },
  });
  return [
    ...(await loaded(sides, "cached tile", [ours.path])),
    ...(await loaded(sides, "cached tile, 304", [ours.path], unchanged)),
  ];
}

function coldTiles({ context, ours, other }: Sides): Promise<Row[]> {
  const { world, tiles, sessions, size } = context;
  return withColdLooks(world, kindsOf(tiles(size.coldTiles, 9), sessions(9)), async (kinds) => {
    const rows: Row[] = [];
    for (const [index, { name, cost }] of kinds.entries()) {
      // The others are told for information: until each is clear would take too long.
      const figures = costFigures(name, index === 0 ? { cpuMs: gate } : {});
      rows.push(...(await compare(size, () => cost(ours), [() => cost(other)], figures)));
    }
    return rows;
  });
}

async function singleObjects(sides: Sides): Promise<Row[]> {
  const { ids } = await someCities(sides.context.world);
  return loaded(
    sides,
    "object",
    ids.map((id) => `${citiesPath}${id}/`),
  );
}

function objectLists(sides: Sides): Promise<Row[]> {
  const pages = Array.from({ length: 20 }, (_, page) => `${citiesPath}?limit=20&offset=${page * 20}`);
  return loaded(sides, "list of 20 objects", pages);
}
