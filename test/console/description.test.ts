import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, area, signIn } from "./support.js";

/** What a map is about is written in the console, and read in the viewer. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const post = (path: string, body: object) => server.api("POST", path, { token, body });
await post("", { code: "land" });
await post("land/layers/", { code: "fields" });
await post("land/layers/fields/objects/", { fields: {}, geom: area(0) });
const saved = async (): Promise<string> => (await server.api("GET", "land/")).json.comment ?? "";
const link = "#project=p&map=land";
const text = "Fields of the land.\n<b>Counted</b> in spring.";

t.test("a description is written, and read above the layers", async (t) => {
  const { page } = await openPage(browser, `${server.url}/console/${link}`, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await page.click(".share");
  const submit = page.locator(".publish-description button");
  await page.waitForSelector("#publish-description");
  t.equal(await submit.isVisible(), false, "nothing is to be saved");
  await page.fill("#publish-description", text);
  await submit.click();
  await soon(t).equal(saved, text);
  await soon(t).equal(() => submit.isVisible(), false);
  await accessible(t, page, "a description that is saved");

  await server.api("PATCH", "land/", { token, body: { comment: "Theirs" } });
  await page.fill("#publish-description", "Mine");
  await submit.click();
  await page.waitForSelector(".tool-dialog .problem:has-text('changed the description')");
  t.equal(await saved(), "Theirs");
  t.equal(await page.inputValue("#publish-description"), "Mine", "what was written stays");
  await submit.click();
  await soon(t).equal(saved, "Mine");
  await page.context().close();
});

t.test("readers find it above the layers, a long one folded; as text, never as HTML", async (t) => {
  await server.api("PATCH", "land/", { token, body: { comment: text } });
  const { page, problems } = await openPage(browser, `${server.url}/${link}`);
  await page.waitForSelector(".map-about p");
  t.equal(await page.locator(".map-about p").textContent(), text);
  t.equal(await page.locator(".map-about b").count(), 0);
  await accessible(t, page, "a map with a description", ".layers");
  const long = "word ".repeat(390);
  await server.api("PATCH", "land/", { token, body: { comment: long } });
  await page.reload();
  await page.waitForSelector(".map-about summary");
  t.equal(await page.locator(".map-about p").isVisible(), false);
  await page.click(".map-about summary");
  t.equal(await page.locator(".map-about p").isVisible(), true);
  const panel = (await page.locator(".layers").boundingBox())!;
  t.ok(panel.y + panel.height <= page.viewportSize()!.height, "the panel stays on the page");
  await accessible(t, page, "a long description", ".layers");
  t.same(problems, []);
  await page.context().close();

  for (const [address, viewport] of [
    ["", { width: 390, height: 844 }],
    ["embed", { width: 600, height: 400 }],
  ] as const) {
    const small = await openPage(browser, `${server.url}/${address}${link}`, { viewport });
    await small.page.click(".layers-header");
    await small.page.click(".map-about summary");
    const { x, width } = (await small.page.locator(".map-about p").boundingBox())!;
    t.ok(x >= 0 && x + width <= viewport.width, "it fits the page");
    await small.page.context().close();
  }
  await server.api("PATCH", "land/", { token, body: { comment: "" } });
  const plain = await openPage(browser, `${server.url}/${link}`);
  await plain.page.waitForSelector(".tree-row");
  t.equal(await plain.page.locator(".map-about").isVisible(), false);
  await plain.page.context().close();
});
