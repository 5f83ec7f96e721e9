import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Fetched, fetchAll } from "../fetch.js";
import { importMap, tilePath } from "../import.js";
import { cost, type Row, rate } from "../report.js";
import { median } from "../rounds.js";
import { type Server, startServer } from "../server.js";
import { startWorld, type World } from "../world.js";
import { openLab } from "./cluster.js";
import { loadTables } from "./load.js";

/** Cold tiles beside renderd and MapServer: the same data, style, addresses, client and machine, in turns. */

export interface PeersOptions {
  /** Has style.mss, viewports, peers/up, peers/down. */
  readonly folder: string;
  /** Has the four files; default `data` in the folder. */
  readonly data: string | undefined;
  readonly rounds: number;
  readonly work: string | undefined;
  readonly progress: (text: string) => void;
}

interface Tile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}
interface Contender {
  readonly name: string;
  url(tile: Tile): string;
  /** Makes every tile cold again. */
  forget(): Promise<void> | void;
}

const tileCount = 1200;
const seed = 1;
const concurrency = 8;

export async function comparePeers(options: PeersOptions): Promise<Row[]> {
  const folder = resolve(options.folder);
  const data = resolve(options.data ?? join(folder, "data"));
  const world = await startWorld(options.work === undefined ? {} : { folder: join(options.work, "peers") });
  try {
    await importMap(
      world,
      {
        style: readFileSync(join(folder, "style.mss"), "utf8"),
        layers: ["cities", "coast", "rivers", "dcw"].map((code) => ({
          code,
          path: join(data, `${code}.geojsonl`),
        })),
      },
      options.progress,
    );
    const lab = await openLab();
    try {
      const client = await lab.connect();
      await loadTables(client, data, options.progress).finally(() => client.end());
      return await inTurns(world, folder, addresses(folder, data), options);
    } finally {
      lab.stop();
    }
  } finally {
    await world.stop();
  }
}

/** The addresses that the folder's own script gives. */
function addresses(folder: string, data: string): Tile[] {
  const args = [join(data, "cities.geojsonl"), String(tileCount), String(seed)];
  const { stdout, status, error } = spawnSync(join(folder, "viewports"), args, {
    encoding: "utf8",
    maxBuffer: 16 * 1024 ** 2,
  });
  if (status !== 0) throw new Error(`viewports failed: ${error?.message ?? status}`);
  return stdout
    .trim()
    .split("\n")
    .map((line) => {
      const [z, x, y] = line.split(" ").map(Number);
      return { z: z!, x: x!, y: y! };
    });
}

async function inTurns(
  world: World,
  folder: string,
  tiles: readonly Tile[],
  { rounds, progress }: PeersOptions,
): Promise<Row[]> {
  const work = join(world.folder, "peers");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const down = () => void spawnSync(join(folder, "peers", "down"), [work], { stdio: "ignore" });
  const server = await startServer(world.config({ redisPrefix: "bench-peers:" }), world.log);
  // They are no children of ours, so they would outlive an interrupted run.
  process.once("exit", down);
  try {
    await startPeers(join(folder, "peers"), work);
    const contenders = [ours(world, server), renderd(work), mapServer(work)];
    const results = new Map<string, Fetched[]>(contenders.map(({ name }) => [name, []]));
    // Other tiles than those that count: styles are compiled, maps loaded, connections opened.
    for (const contender of contenders) await fetchAll(warmUp.map(contender.url), concurrency);
    for (let round = 0; round < rounds; round++) {
      for (const contender of round % 2 === 0 ? contenders : [...contenders].reverse()) {
        await contender.forget();
        const fetched = await fetchAll(tiles.map(contender.url), concurrency);
        results.get(contender.name)!.push(fetched);
        progress(
          `${contender.name.padEnd(10)} ${fetched.perSecond.toFixed(1).padStart(6)} tiles/s  ` +
            `p50 ${fetched.p50Ms.toFixed(0).padStart(5)} ms  p95 ${fetched.p95Ms.toFixed(0).padStart(5)} ms  ` +
            `${(fetched.bytesEach / 1000).toFixed(1)} kB a tile`,
        );
      }
    }
    return contenders.slice(1).flatMap(({ name }) => rowsOf(name, results.get("ours")!, results.get(name)!));
  } finally {
    process.removeListener("exit", down);
    down();
    await server.stop();
  }
}

const warmUp: readonly Tile[] = Array.from({ length: 8 }, (_, index) => ({ z: 4 + index, x: 0, y: 0 }));

const ours = (world: World, server: Server): Contender => ({
  name: "ours",
  url: (tile) => server.url + tilePath(tile),
  forget: () => world.forgetTiles(),
});
const renderd = (work: string): Contender => ({
  name: "renderd",
  url: ({ z, x, y }) => `http://127.0.0.1:7002/lab/${z}/${x}/${y}.png`,
  forget: () => {
    const store = join(work, "tiles");
    for (const name of readdirSync(store)) rmSync(join(store, name), { recursive: true });
  },
});
/** It reads the map file that `up` has written to its work folder. */
const mapServer = (work: string): Contender => {
  const map = encodeURIComponent(join(work, "lab.map"));
  return {
    name: "MapServer",
    url: ({ z, x, y }) =>
      `http://127.0.0.1:7001/mapserv?map=${map}&mode=tile&tilemode=gmap&layers=all&tile=${x}+${y}+${z}`,
    forget: () => undefined,
  };
};

function rowsOf(peer: string, own: readonly Fetched[], other: readonly Fetched[]): Row[] {
  const sides = (of: (fetched: Fetched) => number) => ({
    ours: median(own.map(of)),
    reference: median(other.map(of)),
    ratio: median(own.map((fetched, round) => of(fetched) / of(other[round]!))),
  });
  return [
    rate(
      `cold tile beside ${peer}`,
      "tiles / s",
      sides((fetched) => fetched.perSecond),
      2,
    ),
    cost(
      "",
      "p50 ms",
      sides((fetched) => fetched.p50Ms),
    ),
    cost(
      "",
      "p95 ms",
      sides((fetched) => fetched.p95Ms),
      1,
    ),
    cost(
      "",
      "bytes",
      sides((fetched) => fetched.bytesEach),
    ),
  ];
}

/** Runs the script `up`; what it starts goes on after it. */
async function startPeers(folder: string, work: string): Promise<void> {
  const path = join(work, "up.log");
  const log = openSync(path, "a");
  const child = spawn(join(folder, "up"), [folder, work], { stdio: ["ignore", log, log] });
  closeSync(log);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The peers do not start:\n${readFileSync(path, "utf8")}`);
}
