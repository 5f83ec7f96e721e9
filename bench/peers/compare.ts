import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Fetched, fetchAll } from "../fetch.js";
import { importMap, tilePath } from "../import.js";
import type { Row } from "../report.js";
import { compare, type Figure } from "../rounds.js";
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

const tileCount = 270;
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
    const peers = [renderd(work), mapServer(work)];
    const turnOf = (contender: Contender) => async () => {
      await contender.forget();
      const fetched = await fetchAll(tiles.map(contender.url), concurrency);
      progress(
        `${contender.name.padEnd(10)} ${fetched.perSecond.toFixed(1).padStart(6)} tiles/s  ` +
          `p50 ${fetched.p50Ms.toFixed(0).padStart(5)} ms  p95 ${fetched.p95Ms.toFixed(0).padStart(5)} ms  ` +
          `${(fetched.bytesEach / 1000).toFixed(1)} kB a tile`,
      );
      return fetched;
    };
    return await compare(
      { rounds, most: 3 * rounds },
      turnOf(ours(world, server)),
      peers.map(turnOf),
      peers.flatMap(({ name }, reference) => figuresOf(name, reference)),
    );
  } finally {
    process.removeListener("exit", down);
    down();
    await server.stop();
  }
}

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

const figuresOf = (peer: string, reference: number): Figure<Fetched>[] => [
  {
    measure: `cold tile beside ${peer}`,
    unit: "tiles / s",
    of: ({ perSecond }) => perSecond,
    gate: 2,
    reference,
  },
  { measure: "", unit: "p50 ms", of: ({ p50Ms }) => p50Ms, less: true, reference },
  { measure: "", unit: "p95 ms", of: ({ p95Ms }) => p95Ms, less: true, gate: 1, reference },
  { measure: "", unit: "bytes", of: ({ bytesEach }) => bytesEach, less: true, reference },
];

/** Runs the script `up`; what it starts goes on after it. */
async function startPeers(folder: string, work: string): Promise<void> {
  const path = join(work, "up.log");
  const log = openSync(path, "a");
  const child = spawn(join(folder, "up"), [folder, work], { stdio: ["ignore", log, log] });
  closeSync(log);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The peers do not start:\n${readFileSync(path, "utf8")}`);
}
