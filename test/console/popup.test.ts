import type { Page } from "playwright-core";
import sharp from "sharp";
import t, { type Test } from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, area, signIn } from "./support.js";

/** What readers see when they press an object is put together in the console. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const post = (path: string, body: object) => server.api("POST", path, { token, body });
await post("", { code: "land" });
const fields = "land/layers/fields/";
const { id: layer } = (await post("land/layers/", { code: "fields", json: { viewer: { legend: false } } }))
  .json;
for (const [code, type] of [
  ["name", "string"],
  ["crop", "string"],
  ["area", "number"],
  ["photo", "file"],
] as const)
  await post(`${fields}structure/`, { code, type });
const made = await post(`${fields}objects/`, {
  fields: { name: "Long field", crop: "Rye", area: 1_250 },
  geom: area(0),
});
const object = made.json.id;
const form = new FormData();
form.set("field", "photo");
const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: "#4a7" } })
  .png()
  .toBuffer();
form.set("file", new Blob([new Uint8Array(picture)], { type: "image/png" }), "field.png");
const attached = await fetch(`${server.url}/api/2.8/p/${fields}objects/${object}/files/`, {
  method: "POST",
  headers: { authorization: `Bearer ${token}` },
  body: form,
});
t.equal(attached.status, 200);

const link = "#project=p&map=land";
const settings = async (): Promise<unknown> => (await server.api("GET", fields)).json.json.viewer;
const put = (viewer: object) =>
  server.api("PATCH", fields, { token, body: { parent_id: 0, json: { viewer } } });

async function openConsole(login: string, options: object = {}) {
  const opened = await openPage(browser, `${server.url}/console/${link}`, { waitForMap: false, ...options });
  await signIn(opened.page, login);
  await opened.page.waitForSelector(".tree-choose", { state: "attached" });
  return opened;
}
/** Opens the dialog from the menu of the layer. */
async function openPopup(page: Page): Promise<void> {
  await page.click("[aria-label='More for fields']");
  await page.click(".popup-menu button:has-text('Popup')");
  await page.waitForSelector(".popup-dialog .popup-column");
}
const listed = (page: Page) => page.locator(".popup-column label").allTextContents();
const previewed = (page: Page) => page.locator(".popup-preview .attributes th").allTextContents();
const focused = (page: Page) =>
  page.evaluate<string>(
    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
  );

/** What a reader sees who presses the object. */
async function read(t: Test) {
  const { page, problems } = await openPage(browser, `${server.url}/${link}&object=${layer}.${object}`);
  await page.waitForSelector(".object h2");
  await soon(t).not(() => page.locator(".attributes th").count(), 0);
  const seen = {
    title: await page.textContent(".object h2"),
    columns: await page.locator(".attributes th").allTextContents(),
  };
  t.same(problems, []);
  await page.context().close();
  return seen;
}

t.test("columns are dragged into order and hidden, the title is chosen, and readers see it", async (t) => {
  const { page, problems } = await openConsole("editor");
  await openPopup(page);
  t.same(await listed(page), ["Name", "Crop", "Area", "Photo"]);
  t.same(await previewed(page), ["Name", "Crop", "Area", "Photo"]);
  await soon(t).equal(() => page.locator(".popup-preview .gallery img").count(), 1, "its picture");
  await accessible(t, page, "the popup of a layer");
  const grip = (name: string) => page.locator(`.popup-column:has-text('${name}') .popup-grip`);
  const from = (await grip("Area").boundingBox())!;
  const to = (await grip("Name").boundingBox())!;
  await page.mouse.move(from.x + 8, from.y + 8);
  await page.mouse.down();
  await page.mouse.move(from.x + 8, from.y - 10, { steps: 4 });
  await page.mouse.move(to.x + 8, to.y + 2, { steps: 6 });
  t.same(await previewed(page), ["Area", "Name", "Crop", "Photo"], "while it is dragged");
  await page.mouse.up();
  await page.click(".popup-column:has-text('Name') label");
  t.same(await previewed(page), ["Area", "Crop", "Photo"]);
  await page.selectOption("#popup-title", "crop");
  t.equal(await page.textContent(".popup-preview h4"), "Rye");
  await page.click(".popup-form [type=submit]");
  await soon(t).equal(() => page.locator(".popup-dialog").count(), 0);
  t.same(await settings(), { legend: false, title: "crop", columns: ["area", "crop", "photo"] });
  t.same(await read(t), { title: "Rye", columns: ["Area", "Crop", "Photo"] });
  await openPopup(page);
  t.same(await listed(page), ["Area", "Crop", "Photo", "Name"], "what is hidden stands below");
  t.equal(await page.inputValue("#popup-title"), "crop");
  await page.click(".popup-reset");
  t.same(await previewed(page), ["Name", "Crop", "Area", "Photo"]);
  await page.selectOption("#popup-title", "");
  await page.click(".popup-form [type=submit]");
  await soon(t).same(settings, { legend: false });
  t.same(await read(t), { title: "Long field", columns: ["Name", "Crop", "Area", "Photo"] });
  t.same(problems, []);
  await page.context().close();
});

t.test("all of it is done by keys, and said", async (t) => {
  const { page } = await openConsole("admin");
  await page.focus("[aria-label='More for fields']");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".popup-menu button:has-text('Popup')");
  while ((await focused(page)) !== "Popup") await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".popup-dialog .popup-column");
  t.equal(await page.evaluate("document.activeElement.id"), "popup-title");
  const tabTo = async (name: string) => {
    for (let at = 0; at < 40 && (await focused(page)) !== name; at++) await page.keyboard.press("Tab");
    t.equal(await focused(page), name);
  };
  await tabTo("Move down: Name");
  await page.keyboard.press("Enter");
  t.same(await listed(page), ["Crop", "Name", "Area", "Photo"]);
  t.equal(await focused(page), "Move down: Name", "the button keeps the focus");
  t.equal(await page.textContent(".popup-form [role=status]"), "Name: place 2 of 4");
  await page.keyboard.press("Alt+ArrowDown");
  await page.keyboard.press("Alt+ArrowDown");
  await page.keyboard.press("Alt+ArrowDown");
  t.same(await listed(page), ["Crop", "Area", "Photo", "Name"], "not beyond the end");
  t.equal(await focused(page), "Move down: Name");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Space");
  t.same(await previewed(page), ["Crop", "Area", "Photo"]);
  await tabTo("Save");
  await page.keyboard.press("Enter");
  await soon(t).equal(() => page.locator(".popup-dialog").count(), 0);
  t.same(await settings(), { legend: false, columns: ["crop", "area", "photo"] });
  await soon(t).equal(() => focused(page), "fields", "the row of the layer has the focus");
  await openPopup(page);
  await page.selectOption("#popup-title", { index: 1 });
  await page.keyboard.press("Escape");
  await page.waitForSelector(".popup-dialog .problem:has-text('Not saved yet')");
  await page.mouse.click(5, 5);
  t.equal(await page.locator(".popup-dialog").count(), 1, "nor beside the dialog");
  await page.click(".popup-dialog button:has-text('Cancel')");
  await openPopup(page);
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.locator(".popup-dialog").count(), 0, "without changes nothing is asked");
  t.same(await settings(), { legend: false, columns: ["crop", "area", "photo"] }, "nothing is saved unasked");
  await page.context().close();
});

t.test(
  "the dialog of publication leads there, and what others have changed is not replaced unseen",
  async (t) => {
    await put({ columns: ["name"] });
    const { page, problems } = await openConsole("admin");
    await page.click(".share");
    await page.click(".publish-popups summary");
    await page.click(".publish-popups button");
    await page.waitForSelector(".popup-dialog .popup-column");
    await put({ columns: ["crop"], sort: "name" });
    await page.click(".popup-column:has-text('Area') label");
    await page.click(".popup-form [type=submit]");
    await page.waitForSelector(".popup-form .problem:has-text('changed this popup')");
    t.same(await settings(), { columns: ["crop"], sort: "name" });
    t.equal(await focused(page), "Save");
    await page.click(".popup-form [type=submit]");
    await soon(t).same(settings, { columns: ["name", "area"], sort: "name" });
    await soon(t).equal(() => focused(page), "fields", "back at the layer in the other dialog");
    t.equal(await page.locator(".publish-popups").isVisible(), true);
    t.same(
      problems.filter((problem) => !problem.includes("412")),
      [],
    );
    await page.context().close();
  },
);

t.test("what was there first is saved over what others have made of it, once that was told", async (t) => {
  await put({ columns: ["name"] });
  const { page } = await openConsole("admin");
  await openPopup(page);
  await put({ columns: ["crop"] });
  await page.click(".popup-column:has-text('Area') label");
  await page.click(".popup-form [type=submit]");
  await page.waitForSelector(".popup-form .problem:has-text('changed this popup')");
  await page.click(".popup-column:has-text('Area') label");
  await page.click(".popup-form [type=submit]");
  await soon(t).equal(() => page.locator(".popup-dialog").count(), 0);
  t.same(await settings(), { columns: ["name"] });
  await page.context().close();
});

t.test("it fits a phone, and has enough contrast in the dark", async (t) => {
  for (const [name, options] of [
    ["a phone", { viewport: { width: 360, height: 640 } }],
    ["the dark", { colorScheme: "dark" }],
    ["forced colours", { forcedColors: "active", viewport: { width: 360, height: 640 } }],
  ] as const) {
    const { page } = await openConsole("admin", options);
    await page.click(".share");
    await page.click(".publish-popups summary");
    await accessible(t, page, `publication in ${name}`);
    await page.click(".publish-popups button");
    await page.waitForSelector(".popup-dialog .popup-column");
    const wide = await page.evaluate<string[]>(`(() => {
      const dialog = document.querySelector(".popup-dialog");
      const end = dialog.getBoundingClientRect().left + dialog.clientWidth;
      const isCut = (one) => one.getBoundingClientRect().right > end;
      return [...(dialog.scrollWidth > dialog.clientWidth ? [dialog] : []), ...[...dialog.querySelectorAll("*")].filter(isCut)].map((one) => one.outerHTML.slice(0, 80));
    })()`);
    t.same(wide, [], name);
    await accessible(t, page, `a popup in ${name}`);
    await page.context().close();
  }
});

t.test("a layer without objects or columns has a popup, too", async (t) => {
  await post("", { code: "bare" });
  await post("bare/layers/", { code: "nothing" });
  const address = `${server.url}/console/#project=p&map=bare`;
  const { page, problems } = await openPage(browser, address, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await page.click("[aria-label='More for nothing']");
  await page.click(".popup-menu button:has-text('Popup')");
  await page.waitForSelector(".popup-preview:has-text('has no objects yet')");
  await accessible(t, page, "an empty layer");
  await page.click(".popup-form [type=submit]");
  await soon(t).equal(() => page.locator(".popup-dialog").count(), 0);
  t.same(problems, []);
  await page.context().close();
});
