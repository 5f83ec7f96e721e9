import type { Browser } from "playwright-core";
import { ensureBaseMap, groundLayers } from "../../src/demo/base-map.js";
import type { LoadDependencies } from "../../src/demo/features.js";
import { loadDemo } from "../../src/demo/load.js";
import { startBrowser } from "../browser.js";
import type { Context } from "../context.js";
import { mapCode as code, withImports } from "../import.js";
import type { Row } from "../report.js";
import { startServer } from "../server.js";
import { median } from "../statistics.js";
import type { World } from "../world.js";

/** A browser without anything of the server yet opens maps on a slow line and a good one: when it shows picture and layers. */

/** A line, and when a map is wanted on it, in milliseconds. */
interface Line {
  readonly name: string;
  readonly latency: number;
  readonly bytesPerSecond: number;
  /** The whole picture, sharp; on the slow one a coarse picture, and the list of layers. */
  readonly sharpMs: number;
  readonly firstMs?: number;
}

const slow: Line = {
  name: "50 kB/s and 300 ms",
  ...{ latency: 300, bytesPerSecond: 50_000, sharpMs: 4_000, firstMs: 3_000 },
};
const good: Line = { name: "1 MB/s and 40 ms", latency: 40, bytesPerSecond: 1_000_000, sharpMs: 1_000 };
const mostRounds = 5;
const mapWithinMs = 300_000;

export async function firstPictures({ world, size }: Context): Promise<Row[]> {
  const isSmall = size.rounds === 1;
  const layers = isSmall ? groundLayers : undefined;
  await withImports(world, async (deps) => void (await ensureBaseMap(deps, () => undefined, layers)));
  const server = await startServer(world.config({ redisPrefix: "bench-pages:" }), world.log);
  const browser = await startBrowser();
  const measured = async (map: string, path: string): Promise<Row[]> => {
    const rows: Row[] = [];
    for (const line of [slow, good]) {
      const opened = () => open(browser, server.url + path, line);
      // Draws the tiles, those of a slow line too: how long that takes is measured elsewhere.
      if (!isSmall) await opened();
      const times: Shown[] = [];
      for (let round = 0; round < Math.min(mostRounds, size.rounds); round++) times.push(await opened());
      rows.push(...rowsOf(times, { map, line }));
    }
    return rows;
  };
  try {
    const base = `/#project=${code}&map=${code}&z=2&lat=22&lon=5&layers=0`;
    return [
      ...(await measured("the base map that a link opens", base)),
      ...(await withDemo(world, isSmall ? { demoTowns: 1_000 } : {}, () => measured("the demo", "/"))),
    ];
  } finally {
    await browser.close();
    await server.stop();
  }
}

function rowsOf(
  times: readonly Shown[],
  { map, line }: { readonly map: string; readonly line: Line },
): Row[] {
  const { sharpMs, firstMs } = line;
  const row = (what: string, of: (shown: Shown) => number, reference: number): Row => {
    const ours = median(times.map(of));
    const measure = `${what} of ${map}, at ${line.name}`;
    return { measure, unit: "ms", ours, reference, ratio: reference / ours };
  };
  const sharp = row("all tiles", (shown) => shown.sharp, sharpMs);
  // On a good line the processor counts for more than the line.
  if (firstMs === undefined) return [sharp];
  return [
    { ...row("the first picture", ({ picture }) => picture, firstMs), gate: 1 },
    { ...sharp, gate: 1 },
    row("the layers", ({ layers }) => layers, firstMs),
  ];
}

/** Does the work while the demo is the only project that is shown, as in an empty installation. */
async function withDemo<T>(
  world: World,
  amount: Pick<LoadDependencies, "demoTowns">,
  work: () => Promise<T>,
): Promise<T> {
  let result: T | undefined;
  await withImports(world, async (deps) => {
    const { db } = deps;
    const others = await db.query<{ id: number }>(
      "update project set hidden = true where not hidden and code <> 'demo' returning id",
    );
    try {
      await loadDemo({ ...deps, ...amount }, () => undefined);
      result = await work();
    } finally {
      const ids = others.map(({ id }) => id);
      await db.execute("update project set hidden = false where id = any($1)", [ids]);
    }
  });
  return result!;
}

/** Milliseconds after the page was asked for. */
interface Shown {
  /** Tiles that cover the page, of any zoom. */
  readonly picture: number;
  /** Those of its own zoom. */
  readonly sharp: number;
  /** The list of layers, with which the page can be used. */
  readonly layers: number;
}

async function open(
  browser: Browser,
  address: string,
  { latency, bytesPerSecond }: Pick<Line, "latency" | "bytesPerSecond">,
): Promise<Shown> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
  });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", {
      ...{ offline: false, latency, downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond },
    });
    await page.addInitScript(`(${watch})()`);
    await page.goto(address, { waitUntil: "commit" });
    // The machine may be busy.
    const end = Date.now() + mapWithinMs;
    for (;;) {
      const shown = await page.evaluate<Partial<Shown>>("globalThis.shown");
      if (shown.sharp !== undefined && shown.layers !== undefined) return shown as Shown;
      if (Date.now() > end) throw new Error(`no map of ${address} within five minutes`);
      await page.waitForTimeout(100);
    }
  } finally {
    await context.close();
  }
}

/**
 * Runs in the page, where there are other types: looks before each frame. A place without a tile there is no picture yet.
 * Tiles that the page has asked for anew have addresses of blobs.
 */
const watch = `() => {
  globalThis.shown = {};
  const places = [0.05, 0.35, 0.65, 0.95].flatMap((x) => [0.05, 0.35, 0.65, 0.95].map((y) => [x, y]));
  const isCovered = (tiles, [x, y]) =>
    tiles.some((tile) => {
      const box = tile.getBoundingClientRect();
      const [left, top] = [x * innerWidth, y * innerHeight];
      return box.left <= left && left < box.right && box.top <= top && top < box.bottom;
    });
  const look = () => {
    const tiles = [...document.images].filter((one) => /[?]x=|^blob:/.test(one.src));
    const shown = tiles.filter((one) => one.complete && one.naturalWidth > 0 && getComputedStyle(one).opacity === "1");
    if (places.every((place) => isCovered(shown, place))) globalThis.shown.picture ??= performance.now();
    const sharp = shown.filter((one) => one.getBoundingClientRect().width <= 256);
    if (places.every((place) => isCovered(sharp, place))) globalThis.shown.sharp ??= performance.now();
    if (document.querySelector(".tree-row")) globalThis.shown.layers ??= performance.now();
    if (globalThis.shown.sharp === undefined || globalThis.shown.layers === undefined) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}`;
