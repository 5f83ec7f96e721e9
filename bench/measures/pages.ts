import type { Browser } from "playwright-core";
import { ensureBaseMap } from "../../src/demo/base-map.js";
import { startBrowser } from "../browser.js";
import type { Context } from "../context.js";
import { mapCode as code, withImports } from "../import.js";
import type { Row } from "../report.js";
import { startServer } from "../server.js";
import { median } from "../statistics.js";

/** A browser without anything of the server yet opens a map on a slow line: when its picture is seen, and its layers. */

const slow = { offline: false, latency: 300, downloadThroughput: 50_000, uploadThroughput: 50_000 };
/** As fast as it goes. */
const fast = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
const wantedMs = 3_000;
const mostRounds = 5;

export async function firstPictures({ world, size }: Context): Promise<Row[]> {
  await withImports(world, async (deps) => void (await ensureBaseMap(deps, () => undefined)));
  const server = await startServer(world.config({ redisPrefix: "bench-pages:" }), world.log);
  const browser = await startBrowser();
  try {
    const address = `${server.url}/#project=${code}&map=${code}&z=2&lat=22&lon=5&layers=0`;
    // Draws the tiles: how long that takes is measured elsewhere.
    await open(browser, address, fast);
    const times: Shown[] = [];
    for (let round = 0; round < Math.min(mostRounds, size.rounds); round++)
      times.push(await open(browser, address));
    const row = (what: string, of: (shown: Shown) => number): Row => {
      const ours = median(times.map(of));
      const measure = `${what} of the base map that a link opens, at 50 kB/s and 300 ms`;
      return { measure, unit: "ms", ours, reference: wantedMs, ratio: wantedMs / ours };
    };
    return [
      { ...row("the first picture", ({ picture }) => picture), gate: 1 },
      row("all tiles", ({ sharp }) => sharp),
      row("the layers", ({ layers }) => layers),
    ];
  } finally {
    await browser.close();
    await server.stop();
  }
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

async function open(browser: Browser, address: string, conditions = slow): Promise<Shown> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
  });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", conditions);
    await page.addInitScript(`(${watch})()`);
    await page.goto(address, { waitUntil: "commit" });
    const end = Date.now() + 60_000;
    for (;;) {
      const shown = await page.evaluate<Partial<Shown>>("globalThis.shown");
      if (shown.sharp !== undefined && shown.layers !== undefined) return shown as Shown;
      if (Date.now() > end) throw new Error(`no map of ${address} within a minute`);
      await page.waitForTimeout(100);
    }
  } finally {
    await context.close();
  }
}

/** Runs in the page, where there are other types: looks before each frame. A place without a tile there is no picture yet. */
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
    const tiles = [...document.images].filter((one) => /[?]x=/.test(one.src));
    const shown = tiles.filter((one) => one.complete && one.naturalWidth > 0 && getComputedStyle(one).opacity === "1");
    if (places.every((place) => isCovered(shown, place))) globalThis.shown.picture ??= performance.now();
    const sharp = shown.filter((one) => one.getBoundingClientRect().width <= 256);
    if (places.every((place) => isCovered(sharp, place))) globalThis.shown.sharp ??= performance.now();
    if (document.querySelector(".tree-row")) globalThis.shown.layers ??= performance.now();
    if (globalThis.shown.sharp === undefined || globalThis.shown.layers === undefined) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}`;
