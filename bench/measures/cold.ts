import { publicCaller } from "../../src/catalog/state.js";
import { metatileOf, type TileCoord } from "../../src/geo/tile.js";
import { hostEnvironment } from "../../src/hosts/environment.js";
import { startNode } from "../../src/node.js";
import { xmlOf } from "../../src/style/mapnik-xml.js";
import { startChild } from "../child.js";
import type { Context } from "../context.js";
import { cpuSeconds } from "../cpu.js";
import { fetchAll } from "../fetch.js";
import { mapCode, tileOptions, tilePath } from "../import.js";
import type { DrawRequest, MapDefinition } from "../reference/mapnik.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { type Server, startServer } from "../server.js";
import { type Throughput, throughput, throughputFigures } from "../throughput.js";
import type { World } from "../world.js";

/**
 * Tiles that nobody has, over HTTP, beside a bare loop of Mapnik over the same metatiles of the same Mapnik maps, in
 * tiles per CPU second. The CPU time is that of the front, its hosts and Redis, or of the loop, and in both cases
 * of PostgreSQL.
 */

/** Requests that wait at once, as many as a viewer makes. */
const concurrency = 8;
/** Tiles a side of the product's metatiles at scale 1. */
const metatileSize = 4;

export async function coldTiles({ world, tiles, size }: Context): Promise<Row[]> {
  const config = world.config({ redisPrefix: "bench-cold:" });
  const coords = tiles(size.coldTiles, 9);
  const drawing: DrawRequest = {
    maps: await mapsOf(world, coords),
    metatiles: metatilesOf(coords),
    // The product hands its host one metatile more than it draws at once.
    concurrency: config.render.concurrency + 1,
  };
  const server = await startServer(config, world.log);
  const loop = startChild<DrawRequest, { seconds: number }>(
    "reference/mapnik.js",
    hostEnvironment(config.databaseUrl, config.render.concurrency, config.tiles.deadlineMs),
  );
  const reference = () =>
    throughput(
      () => cpuSeconds([loop.pid, world.postgresPid]),
      async () => ({ count: coords.length, seconds: (await loop.ask(drawing)).seconds }),
    );
  try {
    return await compare(
      size,
      () => drawCold(world, server, coords),
      [reference],
      throughputFigures(
        `cold tile (${coords.length} tiles, ${drawing.metatiles.length} metatiles)`,
        "tiles",
        { perCpuSecond: 0.85 },
      ),
    );
  } finally {
    await Promise.all([loop.stop(), server.stop()]);
  }
}

/** A round of a server: all tiles, once, after each of them was forgotten. */
export async function drawCold(
  world: World,
  { url, pid }: Server,
  coords: readonly TileCoord[],
): Promise<Throughput> {
  await world.forgetTiles();
  return throughput(
    () => cpuSeconds([pid, world.postgresPid, world.redisPid]),
    async () => {
      const { perSecond } = await fetchAll(
        coords.map((coord) => url + tilePath(coord)),
        concurrency,
      );
      return { count: coords.length, seconds: coords.length / perSecond };
    },
  );
}

/** The Mapnik maps from which the product renders these tiles, by zoom. */
async function mapsOf(world: World, coords: readonly TileCoord[]): Promise<Record<number, MapDefinition>> {
  const node = await startNode(world.config(), world.log);
  try {
    const { catalog, planner } = node.services;
    const map = await catalog.map(mapCode, mapCode);
    const maps: Record<number, MapDefinition> = {};
    for (const coord of coords) {
      if (maps[coord.z]) continue;
      const plan = await planner.plan(map, publicCaller, { coord, ...tileOptions });
      // The lab's layers have no image between them, and it has no base map.
      const part = plan.parts[0];
      if (part?.kind !== "map") throw new Error("The map of the lab is not drawn by Mapnik.");
      maps[coord.z] = { xml: xmlOf(part.map), bufferPixels: plan.bufferPixels };
    }
    return maps;
  } finally {
    await node.stop(0);
  }
}

/** Each metatile once, in the order in which the tiles need them. */
function metatilesOf(coords: readonly TileCoord[]): DrawRequest["metatiles"] {
  const metatiles = new Map<string, DrawRequest["metatiles"][number]>();
  for (const coord of coords) {
    const metatile = metatileOf(coord, metatileSize);
    const { z, x, y } = metatile.origin;
    metatiles.set(`${z}/${x}/${y}`, metatile);
  }
  return [...metatiles.values()];
}
