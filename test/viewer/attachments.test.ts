import sharp from "sharp";
import t from "tap";
import { makeFileLayer, send } from "../api/files.support.js";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { openPage, pictureComplete, press, soon, startBrowser } from "./support.js";

/** The files of objects in the viewer. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const picture = (background: string) =>
  sharp({ create: { width: 900, height: 600, channels: 3, background } })
    .png()
    .toBuffer();

for (const map of ["open", "closed"]) {
  await makeMap(server, map);
  await makeFileLayer(server, "sights", map);
  const css_style = "#a { marker-width: 30; marker-fill: #0000ff; marker-allow-overlap: true; }";
  await server.api("PATCH", `${map}/layers/sights/`, { token, body: { parent_id: 0, css_style } });
  const body = { fields: { name: "Tower" }, geom: { type: "Point", coordinates: [10, 10] } };
  const { json, text } = await server.api("POST", `${map}/layers/sights/objects/`, { token, body });
  if (!json?.id) throw new Error(text);
  for (const [name, bytes] of [
    ["red <b>.png", await picture("#ff0000")],
    ["notes.txt", Buffer.from("x".repeat(2_500))],
    ["blue.png", await picture("#0000ff")],
  ] as const) {
    const sent = await send(server, `sights/objects/${json.id}`, { bytes, name, map });
    if (sent.status !== 200) throw new Error(sent.text);
  }
}
await server.sql.query("update map set has_publication = false where code = 'closed'");
await server.nodes[0]!.services.changes.propagate();

const address = (map: string) => `${server.url}/#project=p&map=${map}&z=4&lat=10&lon=10`;
const sizeOf = (selector: string) =>
  `(() => {
    const image = document.querySelector(${JSON.stringify(selector)});
    return image.decode().then(() => [image.naturalWidth, image.naturalHeight]);
  })()`;

t.test("pictures have thumbnails and are turned over the whole page, other files are saved", async (t) => {
  const { page, problems } = await openPage(browser, address("open"));
  await press(page, 10, 10);
  await page.waitForSelector(".thumbnail img[src]");
  await soon(t).equal(() => page.locator(".thumbnail").count(), 2);
  await soon(t).same(
    () => page.evaluate(sizeOf(".thumbnails .thumbnail img")),
    [120, 80],
    "in its own shape",
  );
  await soon(t).same(() => page.evaluate(sizeOf(".thumbnail.lead img")), [360, 240], "the first one larger");
  const [lead, attributes] = [".gallery", ".attributes"].map((part) =>
    page.locator(`.object ${part}`).boundingBox(),
  );
  t.ok((await lead)!.y < (await attributes)!.y, "pictures stand first");
  await soon(t).same(() => page.locator(".attached-file .attached-name").allInnerTexts(), ["notes.txt"]);
  await soon(t).equal(() => page.locator(".attached-file small").innerText(), "2.5 kB");
  const saved = page.waitForEvent("download");
  await page.click(".attached-file");
  t.equal((await saved).suggestedFilename(), "notes.txt");
  await page.locator(".thumbnail").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".lightbox[open] img[src]");
  await soon(t).equal(() => page.locator(".lightbox-image").getAttribute("alt"), "red <b>.png");
  await soon(t).same(() => page.evaluate(sizeOf(".lightbox-image")), [900, 600], "not larger than it is");
  await page.keyboard.press("ArrowRight");
  await soon(t).match(() => page.locator(".lightbox-place").innerText(), "blue.png · 2 / 2");
  await page.keyboard.press("ArrowRight");
  await soon(t).match(() => page.locator(".lightbox-place").innerText(), "red <b>.png · 1 / 2");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".lightbox", { state: "detached" });
  await soon(t).equal(() => page.locator(".object").isVisible(), true, "the object stays");
  t.same(problems, []);
  await page.context().close();
});

t.test("those of a private map need no token in an address", async (t) => {
  const { page, requests, problems } = await openPage(browser, address("closed"), { waitForMap: false });
  await page.click(".sign-in-button");
  await page.fill("#sign-in-login", "admin");
  await page.fill("#sign-in-password", "adminadmin");
  await page.keyboard.press("Enter");
  await pictureComplete(page);
  await press(page, 10, 10);
  await page.waitForSelector('.thumbnail img[src^="blob:"]');
  const saved = page.waitForEvent("download");
  await page.click(".attached-file");
  t.equal((await saved).suggestedFilename(), "notes.txt");
  await soon(t).same(() => requests.filter((url) => /image|files/.test(url) && url.includes("token")), []);
  t.same(
    problems.filter((text) => !text.includes("401") && !text.includes("403")),
    [],
  );
  await page.context().close();
});
