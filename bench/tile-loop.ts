import { publicCaller } from "../src/catalog/state.js";
import type { Config } from "../src/config.js";
import type { TileCoord } from "../src/geo/tile.js";
import { createLog } from "../src/log.js";
import { type Node, startNode } from "../src/node.js";
import { answerParent } from "./child.js";
import { mapCode, tileOptions } from "./import.js";
import type { Done } from "./throughput.js";

/** The product's way to a tile without HTTP around it: rights, plan, freshness, caches. */

export interface TileLoopRequest {
  readonly config: Config;
  readonly coords: readonly TileCoord[];
  readonly concurrency: number;
  readonly seconds: number;
}

let node: Node | undefined;

answerParent<TileLoopRequest, Done>(async (request) => {
  node ??= await startNode(request.config, createLog("warn", "tile loop"));
  const { catalog, planner, tiles } = node.services;
  const { signal } = new AbortController();
  const started = performance.now();
  const until = started + request.seconds * 1000;
  let served = 0;
  const loop = async () => {
    do {
      const coord = request.coords[served++ % request.coords.length]!;
      const map = await catalog.map(mapCode, mapCode);
      const plan = await planner.plan(map, publicCaller, { coord, ...tileOptions });
      await tiles.tile({ plan, coord, ...tileOptions, signal: () => signal });
    } while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: request.concurrency }, loop));
  return { count: served, seconds: (performance.now() - started) / 1000 };
});
