import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  chromium,
  type Page,
  type Route,
} from "playwright-core";
import type { Test } from "tap";
import { headlessBrowser } from "../../bench/browser.js";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { type Picture, picture } from "../support/pictures.js";
import type { TestServer } from "../support/server.js";
import { atEnd, isShared } from "../support/whole-process.js";

/** A small map, and Debian's Chromium to look at it with. */

export interface Town {
  readonly parks: number;
  readonly stops: number;
  readonly stations: number;
  readonly plans: number;
}

const collection = (features: readonly [geometry: object, properties: object][]) => ({
  type: "FeatureCollection",
  features: features.map(([geometry, properties]) => ({ type: "Feature", geometry, properties })),
});

/**
 * Map `town`, published: a folder `transport` with `stops` (red) and `stations` (black), then `parks` (green), and
 * `plans` (blue, over all of it) which is off at first. Map `secret`, not published, with the layer `vault`.
 */
export async function makeTown(server: TestServer): Promise<Town> {
  const token = await server.token("admin");
  const fill = async (map: string, layer: string, features: readonly [object, object][]) => {
    const body = collection(features);
    const answer = await server.api("POST", `${map}/layers/${layer}/import/`, { token, body });
    if (answer.status !== 200) throw new Error(`import of ${layer}: ${answer.status} ${answer.text}`);
  };
  const point = (lon: number, lat: number) => ({ type: "Point", coordinates: [lon, lat] });
  const mapId = await makeMap(server, "town");
  const dot = (colour: string) =>
    `#a { marker-fill: ${colour}; marker-width: 24; marker-line-width: 0; marker-allow-overlap: true; }`;
  const plans = await makeStyledLayer(server, "town", "plans", "#a { polygon-fill: #0000ff; }");
  const stops = await makeStyledLayer(server, "town", "stops", dot("#ff0000"));
  const stations = await makeStyledLayer(server, "town", "stations", dot("#000000"));
  const parks = await makeStyledLayer(server, "town", "parks", "#a { polygon-fill: #00ff00; }");
  await fill("town", "parks", [
    [square(0, 0, 20), { name: "Green park", trees: 21000, opened: 1921 }],
    [square(30, 0, 20), { name: "Far park", trees: 5, opened: 1999 }],
  ]);
  await fill("town", "stops", [
    [point(10, 10), { name: "North stop", line: "7" }],
    [point(10, 10), { name: "South stop", line: "8" }],
  ]);
  await fill("town", "stations", [[point(15, 15), { name: "Main station" }]]);
  await fill("town", "plans", [[square(-10, -10, 70), { name: "Plan" }]]);
  await server.sql.query(
    `update map set name = 'Town', localized_name = true, names = '{"en": "Town", "ru": "Город"}' where id = $1`,
    [mapId],
  );
  await server.sql.query("update node set selected = false where id = $1", [plans.id]);
  const folder = await server.sql.query(
    `insert into node (map_id, type, code, name, sort) values ($1, 'folder', 'transport', 'Transport', 0) returning id`,
    [mapId],
  );
  await server.sql.query("update node set parent_id = $1 where id = any($2)", [
    folder.rows[0].id,
    [stops.id, stations.id],
  ]);
  const secretId = await makeMap(server, "secret");
  await makeStyledLayer(server, "secret", "vault", "#a { polygon-fill: #ff00ff; }");
  await fill("secret", "vault", [[square(0, 0, 20), { name: "Gold" }]]);
  await server.sql.query("update map set name = 'Secret', has_publication = false where id = $1", [secretId]);
  // A page that is opened now hears of nothing that is older than its tiles.
  await server.sql.query("update layer_change set changed_at = changed_at - interval '1 hour'");
  await server.nodes[0]!.services.changes.propagate();
  return { parks: parks.id, stops: stops.id, stations: stations.id, plans: plans.id };
}

/** For what a page does within a second, unless the machine is very busy. */
const longestMs = 60_000;

/** @param args more arguments of its own */
export const launchBrowser = (args: readonly string[] = []): Promise<Browser> =>
  chromium.launch({
    executablePath: headlessBrowser(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...args,
    ],
  });

let ofAll: Promise<Browser> | undefined;

async function launchForAll(): Promise<Browser> {
  const browser = await launchBrowser();
  atEnd(() => browser.close());
  return browser;
}

/**
 * Starts Chromium; it is closed when the test file ends, or with the last of those that share its process: then what the file
 * has open there is closed. @param args more arguments of its own
 */
export async function startBrowser(t: Test, args: readonly string[] = []): Promise<Browser> {
  if (isShared() && args.length === 0) {
    ofAll ??= launchForAll();
    const browser = await ofAll;
    t.teardown(() => Promise.all(browser.contexts().map((context) => context.close())));
    return browser;
  }
  const browser = await launchBrowser(args);
  t.teardown(() => browser.close());
  return browser;
}

export interface OpenPage {
  readonly page: Page;
  /** Addresses of all requests so far. */
  readonly requests: string[];
  /** Errors of the console and of scripts, violations of the content security policy among them. */
  readonly problems: string[];
}

/** Opens an address in a tab of its own (1280 × 800, English, unless `options` say otherwise) and waits for the map. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions & { readonly waitForMap?: boolean } = {},
): Promise<OpenPage> {
  const { waitForMap = true, ...contextOptions } = options;
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    reducedMotion: "reduce",
    ...contextOptions,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(longestMs);
  const requests: string[] = [];
  const problems: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  // Of a style that is changed meanwhile a page may ask for the symbol of a class that is gone.
  const isLate = (message: ConsoleMessage) =>
    /status of 404/.test(message.text()) && /\/icon\/\?class=/.test(message.location().url);
  page.on("console", (message) => {
    if (message.type() === "error" && !isLate(message)) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(address);
  if (waitForMap) await pictureComplete(page);
  return { page, requests, problems };
}

/** Holds a page's requests back until the function is called that it gives. @param pattern of their addresses */
export async function hold(page: Page, pattern: string): Promise<() => void> {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await onRequests(page, pattern, async (route) => {
    await held;
    await route.continue();
  });
  return release;
}

/** Lets `answer` see to a page's requests; one that is still under way when the page is closed ends nobody's test. */
export async function onRequests(
  page: Page,
  address: string | RegExp,
  answer: (route: Route) => Promise<unknown>,
): Promise<void> {
  await page.route(address, async (route) => {
    try {
      await answer(route);
    } catch (error) {
      if (!page.isClosed()) throw error;
    }
  });
}

/**
 * Waits until a script in the page gives true. The script is a text, for the tests are compiled without the browser's
 * types; it is run over and over from outside, for the page itself forbids the evaluation of texts.
 */
export async function until(page: Page, script: string, withinMs = longestMs): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await page.evaluate<boolean>(script))) {
    if (Date.now() > end) throw new Error(`waited ${withinMs / 1_000} seconds for ${script}`);
    await page.waitForTimeout(50);
  }
}

/** Waits until one picture is shown and all its tiles are there. */
export const pictureComplete = (page: Page, withinMs?: number): Promise<void> =>
  until(
    page,
    `(() => {
      const layers = document.querySelectorAll(".leaflet-tile-pane .leaflet-layer");
      const tiles = [...document.querySelectorAll(".leaflet-tile-pane img")];
      const isThere = (tile) =>
        tile.classList.contains("leaflet-tile-loaded") && getComputedStyle(tile).opacity === "1";
      return layers.length === 1 && tiles.length > 0 && tiles.every(isThere);
    })()`,
    withinMs,
  );

/** What the page looks like now. */
export const screen = async (page: Page): Promise<Picture> => picture(await page.screenshot());

/** Its colour at a pixel, as [red, green, blue, alpha]: a picture of all of it takes two to four times as long. */
export async function pixel(page: Page, x: number, y: number): Promise<[number, number, number, number]> {
  const clip = { x, y, width: 1, height: 1 };
  return (await picture(await page.screenshot({ clip }))).at(0, 0);
}

/** Where a place of the map is in the page, once the map has come to rest. */
export async function pixelOf(page: Page, lat: number, lon: number): Promise<{ x: number; y: number }> {
  await until(page, "!document.querySelector('.leaflet-pan-anim, .leaflet-zoom-anim')");
  const hash = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const size = page.viewportSize()!;
  const side = 256 * 2 ** Number(hash.get("z"));
  const x = (degrees: number) => ((degrees + 180) / 360) * side;
  const y = (degrees: number) =>
    ((1 - Math.log(Math.tan(Math.PI / 4 + (degrees * Math.PI) / 360)) / Math.PI) / 2) * side;
  return {
    x: Math.round(size.width / 2 + x(lon) - x(Number(hash.get("lon")))),
    y: Math.round(size.height / 2 + y(lat) - y(Number(hash.get("lat")))),
  };
}

/** Presses a place of the map. */
export async function press(page: Page, lat: number, lon: number): Promise<void> {
  const { x, y } = await pixelOf(page, lat, lon);
  await page.mouse.click(x, y);
}

/**
 * Assertions about what a page comes to show: a page does what it is asked a moment later, so each reads its value again
 * until the assertion holds, for up to a minute.
 */
export function soon(t: Test) {
  type Read<T> = () => T | Promise<T>;
  const settled = async <T>(read: Read<T>, holds: (value: T) => boolean): Promise<T> => {
    const end = Date.now() + longestMs;
    for (;;) {
      const value = await read();
      if (holds(value) || Date.now() > end) return value;
      await delay(50);
    }
  };
  const matches = (value: string | null | undefined, pattern: RegExp | string) =>
    typeof pattern === "string" ? value?.includes(pattern) === true : pattern.test(value ?? "");
  return {
    equal: async <T>(read: Read<T>, wanted: T, ...message: [] | [string]) =>
      t.equal(await settled(read, (value) => value === wanted), wanted, ...message),
    not: async <T>(read: Read<T>, unwanted: T, ...message: [] | [string]) =>
      t.not(await settled(read, (value) => value !== unwanted), unwanted, ...message),
    same: async <T>(read: Read<T>, wanted: T, ...message: [] | [string]) =>
      t.same(await settled(read, (value) => isDeepStrictEqual(value, wanted)), wanted, ...message),
    ok: async (read: Read<unknown>, ...message: [] | [string]) =>
      t.ok(await settled(read, Boolean), ...message),
    notOk: async (read: Read<unknown>, ...message: [] | [string]) =>
      t.notOk(await settled(read, (value) => !value), ...message),
    match: async (
      read: Read<string | null | undefined>,
      pattern: RegExp | string,
      ...message: [] | [string]
    ) => t.match(await settled(read, (value) => matches(value, pattern)), pattern, ...message),
    notMatch: async (
      read: Read<string | null | undefined>,
      pattern: RegExp | string,
      ...message: [] | [string]
    ) => t.notMatch(await settled(read, (value) => !matches(value, pattern)), pattern, ...message),
  };
}
