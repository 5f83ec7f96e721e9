import t from "tap";
import { startServer } from "../support/server.js";
import {
  makeTown,
  type OpenPage,
  openPage,
  pictureComplete,
  pixel,
  pixelOf,
  soon,
  startBrowser,
} from "./support.js";

/** What the viewer says of layers that cannot be drawn. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
const browser = await startBrowser(t);

async function colourAt(page: OpenPage["page"], lat: number, lon: number): Promise<number[]> {
  const { x, y } = await pixelOf(page, lat, lon);
  return (await pixel(page, x, y)).slice(0, 3);
}

t.test("a layer that cannot be drawn is marked beside its name, until it is drawn again", async (t) => {
  const { sql } = server;
  const { page, requests, problems } = await openPage(
    browser,
    `${server.url}/#project=p&map=town&z=4&lat=10&lon=10&layers=${town.stops},${town.parks}`,
  );
  // Nobody has drawn the next zoom yet.
  await sql.query(`alter table layers.l${town.stops} rename to away`);
  await page.click("[aria-label='Zoom in']");
  const signs = () =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll(".layers .missing-sign")].filter((sign) => sign.offsetParent !== null)
        .map((sign) => sign.getAttribute("aria-label"))`,
    );
  await soon(t).same(signs, ["Transport cannot be drawn just now.", "stops cannot be drawn just now."]);
  t.equal(await page.locator(".missing-sign:visible").last().innerText(), "Cannot be drawn just now");
  t.ok(await page.getByRole("img", { name: "Some layers cannot be drawn just now." }).isVisible());
  t.equal(await page.getByRole("img", { name: "stops cannot be drawn just now." }).count(), 1);
  t.equal(
    await page.locator(".missing-sign:visible").last().getAttribute("title"),
    "stops cannot be drawn just now.",
  );
  // As nobody keeps such tiles, one of them is enough to see whether the layer is well.
  const tiles = () => requests.filter((address) => address.includes("/?x=")).length;
  const before = tiles();
  await soon(t).equal(tiles, before + 1);
  await page.waitForTimeout(1_000);
  t.equal(tiles(), before + 1);
  await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  await page.emulateMedia({ media: "print" });
  t.match(await page.innerText(".print-legend"), /stops\s+stops cannot be drawn just now\.\s+parks/);
  await page.emulateMedia({ media: null });
  await page.click('label.tree-name:has-text("stops")');
  await soon(t).same(signs, []);
  await page.click('label.tree-name:has-text("stops")');
  await soon(t).same(async () => (await signs()).length, 2);
  const asked = requests.length;
  await sql.query(`alter table layers.away rename to l${town.stops}`);
  await soon(t).same(signs, []);
  await soon(t).ok(async () => (await colourAt(page, 10, 10)).join() === "255,0,0");
  const again = requests.slice(asked);
  t.ok(
    again.every((address) => again.filter((other) => other === address).length <= 2),
    "no tile again and again",
  );
  for (let time = 0; time < 2; time++) await page.click('label.tree-name:has-text("stops")');
  await pictureComplete(page);
  t.same(await colourAt(page, 10, 10), [255, 0, 0], "the browser has kept nothing of before");
  t.same(problems, []);
});

t.test("without HTTPS too, where browsers tell nothing of an image", async (t) => {
  const plain = await startBrowser(t, ["--host-resolver-rules=MAP maps.test 127.0.0.1"]);
  const { port } = new URL(server.url);
  const { page } = await openPage(
    plain,
    `http://maps.test:${port}/#project=p&map=town&z=5&lat=10&lon=10&layers=${town.stops},${town.parks}`,
  );
  t.equal(await page.evaluate("window.isSecureContext"), false);
  await server.sql.query(`alter table layers.l${town.stops} rename to away`);
  await page.press(".map", "+");
  await page.waitForSelector("[aria-label='stops cannot be drawn just now.']:visible");
  await server.sql.query(`alter table layers.away rename to l${town.stops}`);
  await page.waitForSelector("[aria-label='stops cannot be drawn just now.']", { state: "hidden" });
  t.pass();
});
