import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, areas, type Dropped, drop, signIn } from "./support.js";

/** How a dropped file was read, and reading it in another way. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const home = `${server.url}/console/#project=p`;

/** Latin and Cyrillic text as bytes of windows-1251. */
const inCyrillic = (text: string): Buffer =>
  Buffer.from(
    [...text].map((letter) => {
      const code = letter.charCodeAt(0);
      return code < 128 ? code : code - 0x410 + 0xc0;
    }),
  );

/** Opens the dialog for a file that was dropped. */
async function opened(file: Dropped, options = {}) {
  const { page, problems } = await openPage(browser, home, { waitForMap: false, ...options });
  await signIn(page, "admin");
  await page.waitForSelector(".home-card");
  await drop(page, file);
  await page.waitForSelector(".import:is([data-state='done'], [data-state='partly'])");
  await page.click(".import button:has-text('How it was read')");
  await page.waitForSelector(".reading-rows th, .reading-dialog .problem:not(:empty)");
  return { page, problems };
}

const heads = (page: Page) => page.locator(".reading-rows th").allTextContents();
const firstRow = (page: Page) => page.locator(".reading-rows tbody tr:first-child td").allTextContents();

/** The only layer of the map that is open. */
async function layerOf(page: Page) {
  const token = await server.token("admin");
  const [, map] = /map=([^&]+)/.exec(page.url())!;
  const ask = async (path: string) => (await server.api("GET", `${map}/layers/${path}`, { token })).json;
  const [{ code }] = await ask("?type=full");
  return {
    columns: (await ask(`${code}/structure/`)).map(({ name, code }: any) => name || code),
    objects: await ask(`${code}/objects/?fields=*&returnGeom=1`),
  };
}

t.test("the encoding and the coordinate system of a table are shown and changed", async (t) => {
  for (const options of [{}, { colorScheme: "dark", viewport: { width: 360, height: 740 } } as const]) {
    const rows = inCyrillic("имя,height,lon,lat\nДуб,12.5,1113194.9,6800125.5\nЕль,7,1113195,6800126\n");
    const { page, problems } = await opened({ name: "Trees.csv", text: rows }, options);
    await accessible(t, page, "the dialog", ".reading-dialog");
    const dialog = page.locator(".reading-dialog");
    t.match(await dialog.locator("#reading-encoding option:checked").textContent(), "windows-1251 (found)");
    t.match(await dialog.locator("#reading-system").getAttribute("placeholder"), "EPSG:4326 (found)");
    t.same((await heads(page)).slice(0, 2), ["имяtext", "heightnumber"]);
    t.ok(await page.isDisabled(".reading-dialog .main"), "nothing else is wanted");
    t.match(
      await page.locator(".reading-dialog .problem").textContent(),
      /2 rows cannot be read · .*Does srs match/,
    );

    await page.fill("#reading-system", "3857");
    await page.keyboard.press("Tab");
    await soon(t).same(async () => (await firstRow(page))[0], "Дуб");
    await page.selectOption("#reading-encoding", "koi8-r");
    await soon(t).not(async () => (await heads(page))[0], "имяtext");
    await soon(t).not(async () => (await firstRow(page))[0], "Дуб", "the rows follow");
    await page.selectOption("#reading-encoding", "windows-1251");
    await soon(t).match(async () => (await firstRow(page)).join(" "), /Дуб 12.5 5\d\.\d+, 10\.0+/);
    await page.click(".reading-dialog .main");
    await page.waitForSelector(".import[data-state='done']");
    const { objects, columns } = await layerOf(page);
    t.equal(objects.length, 2, "in place of the others");
    t.same(objects[0].geom.coordinates.map(Math.round), [10, 52]);
    t.same(
      columns.filter((name: string) => /имя|height/.test(name)),
      ["имя", "height"],
    );
    t.same(problems, []);
    await page.context().close();
  }
});

t.test("columns of a reading that was wrong are gone after the right one", async (t) => {
  // Polish, in an encoding that is taken for another one.
  const rows = Buffer.from("nazwa;m\xf3wi;lon;lat\n\xa3\xf3d\xbc;tak;19,4;51,7\n", "latin1");
  const { page } = await opened({ name: "Polska.csv", text: rows });
  const before = (await layerOf(page)).columns.length;
  await page.selectOption("#reading-encoding", "iso-8859-15");
  await soon(t).not(() => page.isDisabled(".reading-dialog .main"), true);
  await page.selectOption("#reading-encoding", "ibm866");
  await soon(t).match(async () => (await heads(page))[1], /^mєwi/);
  await page.click(".reading-dialog .main");
  await soon(t).match(async () => (await layerOf(page)).columns.join(), /mєwi/);
  await soon(t).equal(async () => (await layerOf(page)).columns.length, before);
  await page.context().close();
});

t.test("a coordinate system that nobody knows is refused in the dialog, and the layer stays", async (t) => {
  const { page } = await opened({ name: "Parks.geojson", text: areas("A", "B") });
  t.ok(await page.isHidden("#reading-encoding"), "GeoJSON has one encoding");
  await page.fill("#reading-system", "999999");
  await page.keyboard.press("Tab");
  await page.waitForSelector(".reading-dialog .problem:not(:empty)");
  t.ok(await page.isDisabled(".reading-dialog .main"));
  await page.keyboard.press("Escape");
  t.equal((await layerOf(page)).objects.length, 2);
  await page.context().close();
});

t.test("of a large table the beginning is looked at, and other large files are not", async (t) => {
  const line = "Oak,13.5,52.5\n";
  const { page } = await opened({ name: "Many.csv", text: `name,lon,lat\n${line.repeat(8_000)}` });
  const note = page.locator(".reading-dialog .hint[role=status]");
  await soon(t).equal(() => note.textContent(), "The beginning of the file");
  t.equal(await page.locator(".reading-rows tbody tr").count(), 20);
  await page.context().close();
});
