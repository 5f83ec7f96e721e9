import type { TileCoord } from "../src/geo/tile.js";
import { cpuSeconds } from "./cpu.js";
import { type Fetched, fetchOne, fetchViews } from "./fetch.js";
import { tilePath } from "./import.js";
import type { Figure } from "./rounds.js";
import type { Server } from "./server.js";
import { leastCpuSeconds } from "./throughput.js";
import { tilesOf, type Viewers } from "./viewers.js";
import type { World } from "./world.js";

/** What the looks of viewers cost: CPU time, tiles that nobody has asked for, and how long they wait. */

export interface Cost extends Partial<Omit<Fetched, "perSecond">> {
  /** CPU milliseconds for each tile that was asked for. */
  readonly cpuMs: number;
  /** Tiles asked for, a second. */
  readonly perSecond: number;
  /** Tiles drawn, and encoded, for each that was asked for; absent: they are not counted. */
  readonly drawn?: number | undefined;
  readonly encoded?: number | undefined;
}

/** Requests of a person that wait at once, as many as a viewer makes. */
const concurrency = 8;

/** Who is asked. */
export interface Asked {
  url(tile: TileCoord): string;
  /** CPU seconds so far of the processes that count. */
  cpu(): number;
}

type Looking = Pick<Viewers, "persons">;

/** The cost of some work for `count` tiles, by CPU time only. */
export async function cpuCost(cpu: () => number, count: number, work: () => Promise<number>): Promise<Cost> {
  const before = cpu();
  const seconds = await work();
  return {
    cpuMs: (1000 * Math.max(leastCpuSeconds, cpu() - before)) / count,
    perSecond: count / seconds,
  };
}

export async function costOf({ url, cpu }: Asked, viewers: Looking): Promise<Cost> {
  const asked = tilesOf(viewers).length;
  let fetched: Fetched | undefined;
  const cost = await cpuCost(cpu, asked, async () => {
    fetched = await fetchViews(
      viewers.persons.map((looks) => looks.map(({ tiles, afterMs }) => ({ urls: tiles.map(url), afterMs }))),
      concurrency,
    );
    return asked / fetched.perSecond;
  });
  return { ...fetched, ...cost };
}

/**
 * The cost at a server of ours, after each tile was forgotten. What its hosts keep is of no place: maps, and the encodings
 * of tiles of one colour. They keep pixels of base maps, which these tiles have none of.
 * @throws as `drawnAnew`
 */
export async function costOfCold(world: World, server: Server, viewers: Looking): Promise<Cost> {
  await world.forgetTiles();
  const before = await countsOf(server.url);
  const cpu = () => cpuSeconds([server.pid, world.postgresPid, world.redisPid]);
  const cost = await costOf({ url: (tile) => server.url + tilePath(tile), cpu }, viewers);
  return { ...cost, ...drawnAnew(tilesOf(viewers), before, await countsOf(server.url)) };
}

/** Counts since the start of a server; undefined = it has no such count. */
export interface Counts {
  readonly renders: number | undefined;
  readonly drawn: number | undefined;
  readonly encoded: number | undefined;
}

async function countsOf(url: string): Promise<Counts> {
  const metrics = (await fetchOne(`${url}/metrics`)).toString();
  const value = (name: string) => {
    const found = new RegExp(`^mapwright_${name} (\\S+)$`, "m").exec(metrics)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  return {
    renders: value("render_seconds_count"),
    drawn: value("tiles_drawn_total"),
    encoded: value("tiles_encoded_total"),
  };
}

/**
 * How many tiles were drawn and encoded for each that was asked for.
 * @throws Error when not all of them were drawn meanwhile: something had kept the others
 */
export function drawnAnew(
  tiles: readonly TileCoord[],
  before: Counts,
  after: Counts,
): Pick<Cost, "drawn" | "encoded"> {
  const since = (name: keyof Counts) => {
    const [then, now] = [before[name], after[name]];
    return then === undefined || now === undefined ? undefined : now - then;
  };
  const drawn = since("drawn");
  const different = new Set(tiles.map(({ z, x, y }) => `${z}/${x}/${y}`)).size;
  if (!since("renders") || (drawn ?? different) < different)
    throw new Error(`Of ${different} tiles ${drawn ?? "none"} were drawn: the others were not cold.`);
  const each = (count: number | undefined) => count && count / tiles.length;
  return { drawn: each(drawn), encoded: each(since("encoded")) };
}

type Gates = Readonly<Partial<Record<"cpuMs" | "perSecond" | "p95Ms", number>>>;

/** @param reference which one it is beside, as in `Figure` */
export function costFigures(measure: string, gates: Gates = {}, reference = 0): Figure<Cost>[] {
  const figures: readonly [unit: string, of: keyof Cost][] = [
    ["CPU ms / tile", "cpuMs"],
    ["drawn / asked", "drawn"],
    ["encoded / asked", "encoded"],
    ["tiles / s", "perSecond"],
    ["p50 ms", "p50Ms"],
    ["p95 ms", "p95Ms"],
    ["p99 ms", "p99Ms"],
  ];
  return figures.map(([unit, name], index) => {
    const gate = gates[name as keyof Gates];
    return {
      measure: index === 0 ? measure : "",
      ...{ unit, reference },
      of: (cost) => cost[name],
      ...(name !== "perSecond" && { less: true }),
      ...(gate !== undefined && { gate }),
    };
  });
}
