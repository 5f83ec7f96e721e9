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

/** Names of the columns, each with what it is taken for. */
const heads = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll(".reading-rows th")].map((head) => {
    const type = head.querySelector("select")?.selectedOptions[0].textContent;
    return type === undefined ? head.textContent : head.querySelector("input").value + ": " + type;
  })`);
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
    t.same((await heads(page)).slice(0, 2), ["имя: text (found)", "height: number (found)"]);
    t.ok(await page.isDisabled(".reading-dialog .main"), "nothing else is wanted");
    t.match(
      await page.locator(".reading-dialog .problem").textContent(),
      /2 rows cannot be read · .*Does srs match/,
    );

    await page.fill("#reading-system", "3857");
    await page.keyboard.press("Tab");
    await soon(t).same(async () => (await firstRow(page))[0], "Дуб");
    await page.selectOption("#reading-encoding", "koi8-r");
    await soon(t).not(async () => (await heads(page))[0], "имя: text (found)");
    await soon(t).not(async () => (await firstRow(page))[0], "Дуб", "the rows follow");
    await page.selectOption("#reading-encoding", "windows-1251");
    await soon(t).match(async () => (await firstRow(page)).join(" "), /Дуб 12.5 5\d\.\d+, 10\.0+/);
    await page.click(".reading-dialog .main");
    const placed = async () => (await layerOf(page)).objects[0]?.geom.coordinates.map(Math.round);
    await soon(t).same(placed, [10, 52]);
    const { objects, columns } = await layerOf(page);
    t.equal(objects.length, 2, "in place of the others");
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

/** Of the column of that name in the file. */
const typeOf = (page: Page, name: string) => page.locator(`select[aria-label="Type of the column ${name}"]`);
const nameOf = (page: Page, name: string) => page.locator(`input[aria-label="Name of the column ${name}"]`);

t.test("types and names of columns are changed in place, and columns left out", async (t) => {
  const rows = [
    "PLZ,amount,felled,remark,lon,lat",
    '01067,"1,5",03/04/2024,a,13.1,52.1',
    "1099,2,05/06/2024,b,13.2,52.2",
    "many,3,07/08/2024,c,13.3,52.3",
  ];
  for (const options of [{}, { colorScheme: "dark", viewport: { width: 360, height: 740 } } as const]) {
    const { page, problems } = await opened({ name: "Trees.csv", text: rows.join("\n") }, options);
    const problem = page.locator(".reading-dialog .problem");
    t.match(await heads(page), ["PLZ: text (found)", /amount: number 1\.234,5 \(found\)/]);
    await typeOf(page, "PLZ").selectOption("number plain");
    await soon(t).match(
      () => problem.textContent(),
      /1 row cannot be read · "many" is not a value of type number/,
    );
    await typeOf(page, "PLZ").selectOption("text");
    await soon(t).equal(() => problem.textContent(), "");
    await typeOf(page, "amount").focus();
    await page.keyboard.press("Tab");
    t.equal(
      await page.evaluate("document.activeElement.value"),
      "felled",
      "by keys from one column to the next",
    );
    await page.keyboard.press("Tab");
    await page.keyboard.type("date and time 31");
    await soon(t).equal(() => typeOf(page, "felled").inputValue(), "datetime day_first");
    await typeOf(page, "remark").selectOption({ label: "leave out" });
    t.ok(await nameOf(page, "remark").isDisabled());
    await nameOf(page, "amount").fill("PLZ");
    await page.keyboard.press("Enter");
    await soon(t).match(() => problem.textContent(), /Two columns would be called "PLZ"/);
    await nameOf(page, "amount").fill("Menge");
    await page.keyboard.press("Enter");
    await soon(t).equal(() => problem.textContent(), "");
    await soon(t).equal(() => page.isDisabled(".reading-dialog .main"), false);
    await accessible(t, page, "with other columns", ".reading-dialog");
    await page.click(".reading-dialog .main");
    const names = async () => {
      const { columns } = await layerOf(page);
      return columns.filter((name: string) => !["svc_id", "geom"].includes(name)).sort();
    };
    await soon(t).same(names, ["Menge", "PLZ", "felled"]);
    const { objects } = await layerOf(page);
    t.match(objects[0].fields, { PLZ: "01067", Menge: 1.5, felled: "2024-04-03T00:00:00Z" });
    await page.click(".import button:has-text('How it was read')");
    await page.waitForSelector(".reading-rows th");
    t.equal(await typeOf(page, "remark").inputValue(), "-", "it is known the next time");
    t.equal(await nameOf(page, "amount").inputValue(), "Menge");
    t.ok(await page.isDisabled(".reading-dialog .main"));
    t.match(problems, [/status of 500/], "what was refused, and no other");
    t.equal(problems.length, 1);
    await page.context().close();
  }
});

t.test("a small map shows where the first rows lie, and follows other coordinates", async (t) => {
  const rows = "a,b,lat,lon\n1,2,13.1,52.1\n3,4,13.9,52.9\n";
  const { page, problems } = await opened({ name: "Swapped.csv", text: rows });
  const first = async () => (await firstRow(page)).at(-1);
  await soon(t).equal(() => page.locator(".reading-map path.mark").count(), 2);
  t.equal(await page.locator(".reading-map path.reading-box").count(), 1);
  await soon(t).ok(() => page.locator(".reading-map img.leaflet-tile-loaded").count());
  t.equal(await first(), "13.10000, 52.10000");
  t.equal(await page.textContent("#reading-east option:checked"), "lon, lat (found)");
  await page.click(".reading-coordinates button:has-text('Swap')");
  await soon(t).equal(first, "52.10000, 13.10000");
  t.equal(await page.textContent("#reading-north option:checked"), "lon");
  await page.selectOption("#reading-east", { label: "a" });
  await page.selectOption("#reading-north", { label: "b" });
  await soon(t).equal(first, "2.00000, 1.00000");
  await page.selectOption("#reading-east", { label: "No places" });
  await soon(t).equal(() => page.isHidden(".reading-map"), true);
  await page.selectOption("#reading-east", "");
  await soon(t).equal(() => page.isVisible(".reading-map path.mark"), true);
  await page.click(".reading-coordinates button:has-text('Swap')");
  await soon(t).equal(first, "52.10000, 13.10000");
  await page.click(".reading-dialog .main");
  await soon(t).same(async () => (await layerOf(page)).objects[0]?.geom.coordinates, [13.1, 52.1]);
  t.same(problems, []);
  await page.context().close();
});

t.test("shapes without a point are no obstacle", async (t) => {
  const rows = 'n,wkt\n1,POINT EMPTY\n2,"POINT (13 52)"\n3,LINESTRING EMPTY\n';
  const { page, problems } = await opened({ name: "Empty.csv", text: rows });
  await soon(t).equal(() => page.locator(".reading-map path.mark").count(), 1);
  t.equal((await firstRow(page))[0], "1");
  await page.context().close();
  const none = await opened({ name: "None.csv", text: "n,m,wkt\n1,2,LINESTRING EMPTY\n" });
  t.match(await none.page.textContent(".reading-map"), "None of the first rows has a place on the earth.");
  t.equal(await none.page.textContent(".reading-dialog .problem"), "");
  t.same([...problems, ...none.problems], []);
  await none.page.context().close();
});

t.test("where no row lies on the earth, the dialog says so", async (t) => {
  const { page } = await opened({ name: "Far.csv", text: "n,x,y\n1,5000000,6000000\n" });
  t.match(await page.textContent(".reading-map"), "None of the first rows has a place on the earth.");
  await page.fill("#reading-system", "3857");
  await page.keyboard.press("Tab");
  await soon(t).equal(() => page.locator(".reading-map path.mark").count(), 1);
  await page.context().close();
});

t.test("a table of very many columns keeps them when it is imported again", async (t) => {
  const names = Array.from({ length: 300 }, (_, n) => `c${n}`);
  const text = `${names.join()}\n${names.map((_, n) => n).join()}\n`;
  const { page } = await opened({ name: "Wide.csv", text });
  await soon(t).match(
    () => page.textContent(".reading-dialog"),
    /100 more columns are imported as they are found/,
  );
  await typeOf(page, "c7").selectOption("string");
  await soon(t).equal(() => page.isDisabled(".reading-dialog .main"), false);
  await page.click(".reading-dialog .main");
  await soon(t).equal(async () => (await layerOf(page)).objects[0]?.fields.c7, "7");
  const { columns } = await layerOf(page);
  t.equal(columns.length, 302);
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
