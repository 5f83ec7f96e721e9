import pg from "pg";
import { publicCaller } from "../../src/catalog/state.js";
import type { Config } from "../../src/config.js";
import { metatileOf, type TileCoord } from "../../src/geo/tile.js";
import { hostEnvironment } from "../../src/hosts/environment.js";
import { startNode } from "../../src/node.js";
import { xmlOf } from "../../src/style/mapnik-xml.js";
import { withCatalogue } from "../catalogue.js";
import { startChild } from "../child.js";
import type { Context } from "../context.js";
import { cpuSeconds } from "../cpu.js";
import { pointEdits, whileEdited } from "../edits.js";
import { mapCode, tileOptions } from "../import.js";
import { type Cost, costFigures, costOfCold, cpuCost } from "../looks.js";
import type { DrawRequest, MapDefinition } from "../reference/mapnik.js";
import type { Row } from "../report.js";
import { compare, type Plan } from "../rounds.js";
import { type Server, startServer } from "../server.js";
import { kindsOf, tilesOf, type Viewers } from "../viewers.js";
import type { World } from "../world.js";

/**
 * What the looks of three kinds of viewers cost while nobody has the tiles yet. Those of random viewports stand beside a
 * bare loop of Mapnik over the same metatiles of the same Mapnik maps. The CPU time is that of the front, its hosts and
 * Redis, or of the loop, and in both cases of PostgreSQL; of edits their own is in it.
 */

/** Tiles a side of the product's metatiles at scale 1. */
const metatileSize = 4;

/** Rounds of what stands beside nothing, so that no ratio needs more of them. */
const aloneOf = ({ rounds }: Plan): Plan => ({ rounds: Math.ceil(rounds / 2), most: Math.ceil(rounds / 2) });

export async function coldTiles(context: Context): Promise<Row[]> {
  const { world, tiles, sessions, size } = context;
  const config = world.config({ redisPrefix: "bench-cold:" });
  const server = await startServer(config, world.log);
  try {
    const kinds = kindsOf(tiles(size.coldTiles, 9), sessions(9));
    return await withColdLooks(world, kinds, async ([viewports, ...others]) => {
      const coords = tilesOf(viewports!);
      const rows = await besideMapnik(context, config, coords, () => viewports!.cost(server));
      for (const { name, cost } of others)
        rows.push(...(await compare(aloneOf(size), () => cost(server), [], costFigures(name))));
      return rows;
    });
  } finally {
    await server.stop();
  }
}

/** A kind of viewers, and what a round of their looks costs a server. */
export interface ColdLooks extends Viewers {
  cost(server: Server): Promise<Cost>;
}

/** Gives `work` the three kinds of viewers: those of random viewports, sessions, and those of a map that is edited. */
export async function withColdLooks<T>(
  world: World,
  kinds: readonly Viewers[],
  work: (kinds: readonly ColdLooks[]) => Promise<T>,
): Promise<T> {
  const id = await withCatalogue(world, async ({ map }) => (await map(mapCode)).layers.get("cities")!.id);
  const client = new pg.Client({ connectionString: world.config().databaseUrl });
  await client.connect();
  try {
    const table = { name: `layers.l${id}`, key: "svc_id", srid: 4326 } as const;
    const looks = kinds.map(async (kind): Promise<ColdLooks> => {
      const cost = (server: Server) => costOfCold(world, server, kind);
      if (!kind.editsPerSecond) return { ...kind, cost };
      const edits = {
        edit: await pointEdits(client, table, tilesOf(kind)),
        perSecond: kind.editsPerSecond,
      };
      return { ...kind, cost: (server) => whileEdited(edits, () => cost(server)) };
    });
    return await work(await Promise.all(looks));
  } finally {
    await client.end();
  }
}

async function besideMapnik(
  { world, size }: Context,
  config: Config,
  coords: readonly TileCoord[],
  ours: () => Promise<Cost>,
): Promise<Row[]> {
  const drawing: DrawRequest = {
    maps: await mapsOf(world, coords),
    metatiles: metatilesOf(coords),
    // The product hands its host one metatile more than it draws at once.
    concurrency: config.render.concurrency + 1,
  };
  const loop = startChild<DrawRequest, { seconds: number }>(
    "reference/mapnik.js",
    hostEnvironment({ databaseUrl: config.databaseUrl }, config.render.concurrency, config.tiles.deadlineMs),
  );
  const cpu = () => cpuSeconds([loop.pid, world.postgresPid]);
  const reference = () => cpuCost(cpu, coords.length, async () => (await loop.ask(drawing)).seconds);
  const measure = `cold tiles: ${coords.length} of viewports, ${drawing.metatiles.length} metatiles, beside Mapnik alone`;
  try {
    return await compare(size, ours, [reference], costFigures(measure, { cpuMs: 0.85 }));
  } finally {
    await loop.stop();
  }
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
