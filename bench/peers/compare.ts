import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type pg from "pg";
import type { TileCoord } from "../../src/geo/tile.js";
import { fullSize } from "../context.js";
import { cpuSeconds } from "../cpu.js";
import { placesOf } from "../data.js";
import { type Edits, pointEdits, whileEdited } from "../edits.js";
import { importMap } from "../import.js";
import { type Asked, type Cost, costFigures, costOf } from "../looks.js";
import { withColdLooks } from "../measures/cold.js";
import type { Row } from "../report.js";
import { compare, type Figure } from "../rounds.js";
import { startServer } from "../server.js";
import { kindsOf, sessions, tilesOf, type Viewers } from "../viewers.js";
import { startWorld, type World } from "../world.js";
import { openLab } from "./cluster.js";
import { loadTables } from "./load.js";

/**
 * Looks at cold tiles beside renderd and MapServer: the same data, style, addresses, client and machine, in turns. The
 * CPU time of a peer is that of its processes and of its PostgreSQL.
 */

export interface PeersOptions {
  /** Has style.mss, viewports, peers/up, peers/down. */
  readonly folder: string;
  /** Has the four files; default `data` in the folder. */
  readonly data: string | undefined;
  readonly rounds: number;
  readonly work: string | undefined;
  readonly progress: (text: string) => void;
}

interface Peer extends Asked {
  readonly name: string;
  /** Makes every tile cold again. */
  forget(): void;
}

const tileCount = 270;
const seed = 1;

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
      try {
        await loadTables(client, data, options.progress);
        const places = await placesOf(join(data, "cities.geojsonl"));
        const kinds = kindsOf(addresses(folder, data), sessions(places, { ...fullSize, seed }));
        return await inTurns(world, { folder, lab: { client, pid: lab.pid }, kinds }, options);
      } finally {
        await client.end();
      }
    } finally {
      lab.stop();
    }
  } finally {
    await world.stop();
  }
}

/** The addresses that the folder's own script gives. */
function addresses(folder: string, data: string): TileCoord[] {
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

interface Lab {
  readonly client: pg.Client;
  readonly pid: number;
}

async function inTurns(
  world: World,
  { folder, lab, kinds }: { folder: string; lab: Lab; kinds: readonly Viewers[] },
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
    const peers = [renderd(work, lab.pid), mapServer(work, lab.pid)];
    return await withColdLooks(world, kinds, async (looks) => {
      const rows: Row[] = [];
      for (const [index, { cost, ...kind }] of looks.entries()) {
        progress(kind.name);
        const turnOf = (name: string, round: () => Promise<Cost>) => async () => {
          const done = await round();
          progress(told(name, done));
          return done;
        };
        const edit = await pointEdits(lab.client, labCities, tilesOf(kind));
        rows.push(
          ...(await compare(
            { rounds, most: 3 * rounds },
            turnOf("ours", () => cost(server)),
            peers.map((peer) => turnOf(peer.name, () => peerCost(peer, kind, edit))),
            peers.flatMap(({ name }, peer) => figuresOf(`${kind.name}, beside ${name}`, peer, index === 0)),
          )),
        );
      }
      return rows;
    });
  } finally {
    process.removeListener("exit", down);
    down();
    await server.stop();
  }
}

const labCities = { name: "cities", key: "gid", srid: 3857 } as const;

function peerCost(
  peer: Peer,
  { persons, editsPerSecond: perSecond }: Viewers,
  edit: Edits["edit"],
): Promise<Cost> {
  peer.forget();
  const cost = () => costOf(peer, { persons });
  return perSecond ? whileEdited({ edit, perSecond }, cost) : cost();
}

const told = (name: string, { perSecond, cpuMs, p50Ms = 0, p95Ms = 0, p99Ms = 0, bytesEach = 0 }: Cost) =>
  `${name.padEnd(10)} ${perSecond.toFixed(1).padStart(6)} tiles/s  ${cpuMs.toFixed(1).padStart(5)} CPU ms  ` +
  `p50 ${p50Ms.toFixed(0).padStart(5)} ms  p95 ${p95Ms.toFixed(0).padStart(5)} ms  ` +
  `p99 ${p99Ms.toFixed(0).padStart(5)} ms  ${(bytesEach / 1000).toFixed(1)} kB a tile`;

/** The processes that `up` has started, by its files of their numbers. */
const pidsIn = (work: string, ...names: readonly string[]): number[] =>
  names.flatMap((name) =>
    readFileSync(join(work, "run", `${name}.pid`), "utf8")
      .trim()
      .split(/\s+/)
      .map(Number),
  );

/** It goes on showing tiles of before an edit. */
const renderd = (work: string, postgresPid: number): Peer => ({
  name: "renderd",
  url: ({ z, x, y }) => `http://127.0.0.1:7002/lab/${z}/${x}/${y}.png`,
  cpu: () => cpuSeconds([...pidsIn(work, "apache", "renderd"), postgresPid]),
  forget: () => {
    const store = join(work, "tiles");
    for (const name of readdirSync(store)) rmSync(join(store, name), { recursive: true });
  },
});
/** It reads the map file that `up` has written to its work folder. */
const mapServer = (work: string, postgresPid: number): Peer => {
  const map = encodeURIComponent(join(work, "lab.map"));
  return {
    name: "MapServer",
    url: ({ z, x, y }) =>
      `http://127.0.0.1:7001/mapserv?map=${map}&mode=tile&tilemode=gmap&layers=all&tile=${x}+${y}+${z}`,
    cpu: () => cpuSeconds([...pidsIn(work, "nginx", "mapserv"), postgresPid]),
    forget: () => undefined,
  };
};

/** @param isGated of the kind that gates are for */
const figuresOf = (measure: string, reference: number, isGated: boolean): Figure<Cost>[] => [
  ...costFigures(measure, isGated ? { perSecond: 2, p95Ms: 1 } : {}, reference),
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
