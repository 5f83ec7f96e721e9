import { publicCaller } from "../src/catalog/state.js";
import type { Config } from "../src/config.js";
import type { TileCoord } from "../src/geo/tile.js";
import { createLog } from "../src/log.js";
import { type Node, startNode } from "../src/node.js";
import { png } from "../src/tiles/formats.js";
import { answerParent } from "./child.js";
import { mapCode } from "./import.js";
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
    while (performance.now() < until) {
      const coord = request.coords[served++ % request.coords.length]!;
      const map = await catalog.map(mapCode, mapCode);
      const look = {
        base: false,
        layers: undefined,
        scale: 1,
        language: undefined,
        format: png,
        quality: 0,
      } as const;
      const plan = await planner.plan(map, publicCaller, { coord, ...look });
      await tiles.tile({ plan, coord, format: png, quality: 0, signal: () => signal });
    }
  };
  await Promise.all(Array.from({ length: request.concurrency }, loop));
  return { count: served, seconds: (performance.now() - started) / 1000 };
});
