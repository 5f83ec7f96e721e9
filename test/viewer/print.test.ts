import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pictureComplete, soon, startBrowser, until } from "./support.js";

/** The map on paper. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

const pages = (pdf: Buffer): number => pdf.toString("latin1").match(/\/Type \/Page\b(?!s)/g)?.length ?? 0;

interface Box {
  readonly top: number;
  readonly bottom: number;
}

/** What of the page is on the paper. */
async function onPaper(page: Page): Promise<string> {
  await page.emulateMedia({ media: "print" });
  const text = await page.innerText("body");
  await page.emulateMedia({ media: null });
  return text;
}

t.test("the browser's command prints the map with title, legend, scale, sources and date", async (t) => {
  const { page, problems } = await openPage(browser, home);
  t.equal(pages(await page.pdf({ format: "A4" })), 1);
  t.equal(pages(await page.pdf({ format: "A4", landscape: true })), 1);
  const [, wide, high] =
    /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(
      (await page.pdf({ preferCSSPageSize: true })).toString("latin1"),
    ) ?? [];
  t.ok(Number(wide) > Number(high), "along the longer side of the window");
  const text = await onPaper(page);
  for (const part of ["Town", "stops", "parks", "500 km", "Base map: Natural Earth"]) t.match(text, part);
  t.match(text, /\d{1,2} \p{L}+ \d{4}|\p{L}+ \d{1,2}, \d{4}/u, "the date");
  t.notMatch(text, "plans", "a layer that is off");
  t.notMatch(text, /Share|Sign in|Layers/, "no buttons, no panels");
  await page.emulateMedia({ media: "print" });
  for (const part of [".toolbar", ".side", ".controls", ".bottom-line", ".progress"])
    await soon(t).notOk(() => page.isVisible(part), part);
  await page.emulateMedia({ media: null });
  await soon(t).notOk(() => page.isVisible(".print-title"));
  t.same(problems, []);
  await page.context().close();
});

/** Asks for the map on paper, up to where the browser would print. */
async function askForPaper(page: Page, paper: string, title: string): Promise<void> {
  await page.evaluate("window.printed = 0; window.print = () => { window.printed++; }");
  await page.click("[aria-label=Print]");
  await page.fill("#print-title", title);
  await page.check(`[name=paper][value=${paper}]`);
  await page.click("dialog [type=submit]");
  await until(page, "window.printed === 1");
}

for (const paper of ["portrait", "landscape"] as const) {
  t.test(`the page's command draws the map for the paper (${paper})`, async (t) => {
    const { page, requests, problems } = await openPage(browser, home);
    const hash = await page.evaluate("location.hash");
    await askForPaper(page, paper, "Parks & stops <b>");
    const tiles = requests.filter((address) => address.includes("/?x="));
    t.match(tiles.at(-1), /retina=2/, "tiles for the resolution of printers");
    await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
    await soon(t).match(() => onPaper(page), "Parks & stops <b>");
    await page.emulateMedia({ media: "print" });
    const [foot, legend] = await Promise.all(
      [".print-foot", ".print-legend"].map((part) => page.locator(part).boundingBox()),
    );
    t.equal(legend!.y < foot!.y, paper === "landscape", "the legend is beside or below the map");
    t.ok(paper === "portrait" || legend!.x > 700);
    const end = Math.max(foot!.y + foot!.height, legend!.y + legend!.height);
    const room = paper === "portrait" ? 980 : 718;
    t.ok(end > room - 40 && end <= room, `the paper is full: ${end} of ${room} pixels`);
    await page.emulateMedia({ media: null });
    t.equal(pages(await page.pdf({ preferCSSPageSize: true })), 1);
    await page.waitForSelector(".print-wait", { state: "detached" });
    await pictureComplete(page);
    await soon(t).equal(() => page.evaluate("location.hash"), hash, "the view is that of before");
    await soon(t).equal(async () => (await page.locator(".map").boundingBox())!.width, 1280);
    await soon(t).equal(() => page.locator(".leaflet-tile-pane img[src*=retina]").count(), 0);
    t.same(problems, []);
    await page.context().close();
  });
}

for (const paper of ["portrait", "landscape"] as const) {
  t.test(`the world fills the paper, and the page shows then what it did (${paper})`, async (t) => {
    const { page } = await openPage(browser, `${server.url}/#project=p&map=town&z=1&lat=10&lon=10`);
    await page.press(".map", "ArrowUp");
    const view = () => page.evaluate("location.hash");
    const before = await view();
    await askForPaper(page, paper, "World");
    await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
    await page.emulateMedia({ media: "print" });
    const [paperMap, ...tiles] = await page.evaluate<Box[]>(
      `[".map", ".leaflet-tile"].flatMap((part) => [...document.querySelectorAll(part)].map((one) => one.getBoundingClientRect().toJSON()))`,
    );
    const [top, bottom] = [
      Math.min(...tiles.map((tile) => tile.top)),
      Math.max(...tiles.map((tile) => tile.bottom)),
    ];
    const zooms = await page.$$eval(".leaflet-tile", (all) =>
      all.map((tile) => (tile as { currentCSSZoom?: number }).currentCSSZoom),
    );
    t.same(
      [...new Set(zooms)],
      [1],
      "tiles are drawn smaller together: each by itself would be rounded, and leave seams",
    );
    t.ok(top <= paperMap!.top + 2 && bottom >= paperMap!.bottom - 2, `${top} to ${bottom}`);
    await page.emulateMedia({ media: null });
    await page.evaluate("window.dispatchEvent(new Event('afterprint'))");
    await page.waitForSelector(".print-wait", { state: "detached" });
    await soon(t).equal(view, before);
    await page.context().close();
  });
}

t.test("a map of its project's name has it once on paper, which is white where the world ends", async (t) => {
  await server.sql.query("update project set name = 'Greenfield' where code = 'p'");
  await server.nodes[0]!.services.changes.propagate();
  const { page } = await openPage(browser, `${server.url}/#project=p&map=town&z=0&lat=10&lon=10`);
  for (const [title, times] of [
    ["Greenfield", 1],
    ["Greenfield today", 2],
  ] as const) {
    await askForPaper(page, "portrait", title);
    await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
    await soon(t).equal(async () => (await onPaper(page)).match(/Greenfield/g)?.length, times, title);
    await page.evaluate("window.dispatchEvent(new Event('afterprint'))");
    await page.waitForSelector(".print-wait", { state: "detached" });
  }
  await page.emulateMedia({ media: "print" });
  await soon(t).equal(
    () => page.evaluate("getComputedStyle(document.querySelector('.map')).backgroundColor"),
    "rgb(255, 255, 255)",
  );
  await page.context().close();
});

t.test("a legend has its classes on paper, also when the panel is folded", async (t) => {
  const token = await server.token("editor");
  const css = "#a { polygon-fill: #00ff00; [name='Far park'] { polygon-fill: #ff00ff; } }";
  await server.api("PATCH", "town/layers/parks/", { token, body: { parent_id: 0, css_style: css } });
  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
  const { page } = await openPage(browser, home, phone);
  await askForPaper(page, "portrait", "Classes");
  await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  await soon(t).match(() => onPaper(page), /parks\s.*Far/s);
  await soon(t).equal(() => page.locator(".print-legend .legend-class img").count(), 2);
  await page.evaluate("window.dispatchEvent(new Event('afterprint'))");
  await page.waitForSelector(".print-wait", { state: "detached" });
  await page.context().close();
});

t.test("nothing is printed when the dialog is closed", async (t) => {
  const { page } = await openPage(browser, home);
  await page.evaluate("window.printed = 0; window.print = () => { window.printed++; }");
  await page.click("[aria-label=Print]");
  await page.waitForSelector("dialog[open] #print-title");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await soon(t).equal(() => page.evaluate("window.printed"), 0);
  await page.context().close();
});
