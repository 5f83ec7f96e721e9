import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { bareEnvironment, program, run, start } from "../as-started/installation.js";
import { launchBrowser, openPage, pictureComplete, until } from "../viewer/support.js";
import { type GalleryMap, maps } from "./maps.js";
import { type Picture, pageOf } from "./page.js";

/**
 * `node take.js FOLDER [part of a map's code …]`: makes maps of real data in a server that is started as users start it, takes
 * their pictures in its viewer, and writes a page of them, `maps.html`. Needs the registries of npm and of Debian the first time.
 */

const [folder = "data/gallery", ...wanted] = process.argv.slice(2);
const gallery = resolve(folder);
const folders = { packages: join(gallery, "packages"), files: join(gallery, "files") };
/** Nothing is at stake but the time of whoever waits. */
const withinMs = 900_000;
const size = { width: 1200, height: 800 };
/** A4, across, at 96 dots an inch. */
const paper = { width: 1123, height: 794 };
const deficiencies = ["deuteranopia", "protanopia"] as const;

const base = await mkdtemp(join(tmpdir(), "mapwright-gallery-"));
const environment = { ...bareEnvironment(base), MAPWRIGHT_DATA_DIR: join(base, "data") };
const inBase = { cwd: base, env: environment };

async function command(...words: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run([process.execPath, program, ...words], inBase);
  if (status !== 0) throw new Error(`${words.join(" ")}: ${stderr}`);
  return stdout.toString().trim();
}

async function request(token: string, method: string, address: string, body: object): Promise<void> {
  const answer = await fetch(`${server.url}/api/2.8/${address}`, {
    ...{ method, body: JSON.stringify(body) },
    headers: { "X-Token": token, "Content-Type": "application/json" },
  });
  if (!answer.ok) throw new Error(`${method} ${address}: ${answer.status} ${await answer.text()}`);
}

/** Each map has a project of its own, since the base map is the project's. */
async function make({ code, title, base, layers }: GalleryMap): Promise<void> {
  await command("project", "create", code, "--name", title);
  await command("project", "base-map", code, base);
  const added = ["user", "add", `of_${code}`, "--project", code, "--role", "admin"];
  await run([process.execPath, program, ...added], { ...inBase, input: randomUUID() });
  await command("map", "create", code, "map", "--name", title);
  const token = await command("session", "open", `of_${code}`, "--project", code);
  for (const [at, layer] of layers.entries()) {
    await command("import", code, "map", layer.code, await layer.source(folders));
    const address = `${code}/map/layers/${layer.code}/`;
    const { name, style } = layer;
    await request(token, "PATCH", address, {
      parent_id: 0,
      sort: at + 1,
      name,
      ...(style && { css_style: style }),
    });
    if (layer.visualization) await request(token, "PUT", `${address}visualization/`, layer.visualization);
  }
}

interface Shot {
  readonly name: string;
  readonly caption: string;
  readonly zoom: number;
  readonly scale: number;
  readonly deficiency?: (typeof deficiencies)[number];
}

const shotsOf = ({ zooms }: GalleryMap): Shot[] => [
  ...zooms.flatMap((zoom) =>
    [1, 2].map((scale) => ({ name: `z${zoom}@${scale}x`, caption: `zoom ${zoom}, ${scale}×`, zoom, scale })),
  ),
  ...deficiencies.map((deficiency) => ({
    ...{ name: deficiency, caption: deficiency, zoom: zooms[1], scale: 1 },
    deficiency,
  })),
];

const addressOf = ({ code, lat, lon }: GalleryMap, zoom: number, at = "") =>
  `${server.url}/${at}#project=${code}&map=map&z=${zoom}&lat=${lat}&lon=${lon}`;

interface Screen {
  readonly viewport: typeof size;
  readonly scale: number;
  readonly colorScheme: "light" | "dark";
}

async function open(
  browser: Browser,
  address: string,
  { viewport, scale, colorScheme }: Screen,
): Promise<Page> {
  const options = { viewport, deviceScaleFactor: scale, colorScheme, waitForMap: false };
  const { page } = await openPage(browser, address, options);
  page.setDefaultTimeout(withinMs);
  await settled(page);
  return page;
}

/** Of legends: those that are hidden or out of sight are not loaded. */
const symbolsShown = `[...document.images].every((image) => {
  const { top, height } = image.getBoundingClientRect();
  return image.complete || height === 0 || top > innerHeight;
})`;

async function settled(page: Page): Promise<void> {
  await pictureComplete(page, withinMs);
  await until(page, "document.querySelector('.toast') === null", withinMs);
  await until(page, symbolsShown, withinMs);
  await page.waitForTimeout(500);
}

/** The map as the viewer's own command draws it for paper, which ends when it is printed. */
async function toPaper(page: Page): Promise<void> {
  await page.evaluate(
    "window.printed = 0; window.print = () => { window.printed++; dispatchEvent(new Event('beforeprint')); }",
  );
  await page.click("[aria-label=Print]");
  await page.check("[name=paper][value=landscape]");
  await page.click("dialog [type=submit]");
  await until(page, "window.printed === 1", withinMs);
  await page.emulateMedia({ media: "print" });
}

async function take(browser: Browser, map: GalleryMap): Promise<Picture[]> {
  const colorScheme = map.base === "builtin-dark" ? "dark" : "light";
  const taken: Picture[] = [];
  for (const { name, caption, zoom, scale, deficiency } of shotsOf(map)) {
    const viewport = map.onPaper ? paper : size;
    const page = await open(browser, addressOf(map, zoom), { viewport, scale, colorScheme });
    const file = join(gallery, `map-${map.code}-${name}`);
    if (map.onPaper) await toPaper(page);
    if (deficiency) {
      const client = await page.context().newCDPSession(page);
      await client.send("Emulation.setEmulatedVisionDeficiency", { type: deficiency });
    }
    await page.screenshot({ path: `${file}.png` });
    if (map.onPaper) await writeFile(`${file}.pdf`, await page.pdf({ preferCSSPageSize: true }));
    await page.context().close();
    taken.push({ file: `map-${map.code}-${name}.png`, caption });
  }
  const page = await open(browser, addressOf(map, map.zooms[1], "embed/"), {
    ...{ viewport: { width: 600, height: 400 }, scale: 2, colorScheme },
  });
  await page.screenshot({ path: join(gallery, `map-${map.code}-embed.png`) });
  await page.context().close();
  return [...taken, { file: `map-${map.code}-embed.png`, caption: "in another page, 2×" }];
}

await Promise.all(Object.values(folders).map((path) => mkdir(path, { recursive: true })));
const server = await start([process.execPath, program, "serve", "--local", "--port", "0"], {
  ...{ ...inBase, withinMs },
});
const browser = await launchBrowser();
try {
  const chosen = maps.filter(({ code }) => wanted.length === 0 || wanted.some((part) => code.includes(part)));
  const target = join(gallery, "maps.html");
  const parts: { map: GalleryMap; pictures: Picture[] }[] = [];
  for (const map of chosen) {
    await make(map);
    console.log(`${map.title}: ${map.about}`);
    parts.push({ map, pictures: await take(browser, map) });
    await writeFile(target, pageOf(parts));
  }
  console.log(`${parts.length} maps: ${target}`);
} finally {
  await browser.close();
  await server.stop();
  await rm(base, { recursive: true, force: true });
}
