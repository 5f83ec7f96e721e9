import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { hold, openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible, signIn } from "./support.js";

/** Objects that others change while they are edited, servers that do not answer, and pages that are left: nothing is lost. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });

type Fields = Readonly<Record<string, unknown>>;

async function made(map: string, ...objects: readonly Fields[]): Promise<void> {
  await api("POST", "", { code: map });
  await api("POST", `${map}/layers/`, { code: "sites", name: "Sites" });
  const columns = [
    { code: "title", type: "string" },
    { code: "note", type: "text" },
    { code: "height", type: "number" },
  ];
  for (const column of columns) await api("POST", `${map}/layers/sites/structure/`, column);
  for (const fields of objects) await api("POST", `${map}/layers/sites/objects/`, { fields, geom: null });
}
const fieldsOf = async (map: string): Promise<Fields[]> =>
  (await api("GET", `${map}/layers/sites/objects/?fields=*`)).json.map(
    ({ fields }: { fields: Fields }) => fields,
  );
const titles = async (map: string) => (await fieldsOf(map)).map(({ title }) => title).sort();
const change = (map: string, fields: Fields, id = 1) =>
  api("PUT", `${map}/layers/sites/objects/${id}/`, { fields });

async function opened(map: string): Promise<Page> {
  const { page } = await openPage(browser, `${server.url}/console/#project=p&map=${map}`, {
    waitForMap: false,
  });
  const listens = page.waitForResponse((response) => response.url().includes("/changes/"));
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await openTable(page);
  await listens;
  return page;
}
async function openTable(page: Page): Promise<void> {
  await page.hover(".tree-row");
  await page.click(".tree-row [aria-haspopup], .tree-row .tree-menu");
  await page.click(".popup-menu button:has-text('Objects')");
  await page.waitForSelector(".bottom-panel .object-tools .button:enabled");
}
async function again(page: Page): Promise<void> {
  await page.reload();
  await page.waitForSelector(".tree-choose");
  await openTable(page);
}
const row = (page: Page, text: string) => page.locator(`.table-rows .table-row:has-text("${text}")`);
const field = (page: Page, code: string) => page.locator(`#object-field-${code}`);
const save = (page: Page) => page.click(".object-editor .button.main");

t.test(
  "what others change is seen in the table, the form and the tree, and what is typed stays",
  async (t) => {
    await made("live", { title: "One", note: "old" }, { title: "Two" });
    const page = await opened("live");
    await row(page, "One").click();
    await page.waitForSelector(".object-editor h2:text-is('One')");
    await field(page, "title").fill("Mine");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");

    await change("live", { note: "theirs" });
    await soon(t).equal(() => field(page, "note").inputValue(), "theirs");
    t.equal(await field(page, "title").inputValue(), "Mine");
    t.same(
      await page.evaluate("[document.activeElement.id, document.activeElement.selectionStart]"),
      ["object-field-title", 1],
      "where it is written is not left",
    );
    await api("POST", "live/layers/sites/objects/", { fields: { title: "Three" }, geom: null });
    await row(page, "Three").waitFor();
    await save(page);
    await page.waitForSelector(".toast:has-text('Saved.')");
    t.match((await fieldsOf("live"))[0], { title: "Mine", note: "theirs" });

    // Both change the same.
    await field(page, "note").fill("my note");
    await change("live", { note: "their note", height: 7 });
    await page.waitForSelector(".object-news:has-text('Somebody else has just changed')");
    t.equal(await field(page, "note").inputValue(), "my note");
    await soon(t).equal(() => field(page, "height").inputValue(), "7");
    await accessible(t, page, "what others have changed");
    await save(page);
    await page.waitForSelector(".conflict");
    t.same(await page.locator(".conflict tbody td").allTextContents(), ["my note", "their note"]);
    await page.click("button:has-text('Keep mine')");
    await soon(t).equal(async () => (await fieldsOf("live"))[0]?.note, "my note");

    await api("PATCH", "live/layers/sites/", { name: "Places", parent_id: 0 });
    await page.waitForSelector(".tree-choose:text-is('Places')");
    t.equal(await page.locator(".object-editor").isVisible(), true);
    await field(page, "title").fill("Typed");
    await api("DELETE", "live/layers/sites/objects/1/");
    await page.waitForSelector(".object-news:has-text('not there any more')");
    t.equal(await field(page, "title").inputValue(), "Typed");
    await page.context().close();
  },
);

t.test("an answer that is lost is asked for again, and an object is made once", async (t) => {
  await made("lost", { title: "One" });
  const page = await opened("lost");
  const keys: (string | undefined)[] = [];
  await page.route("**/objects/?*", async (route) => {
    const request = route.request();
    if (request.method() !== "POST") return route.fallback();
    keys.push(request.headers()["idempotency-key"]);
    if (keys.length > 1) return route.fallback();
    // The server has done it.
    await route.fetch();
    return route.abort();
  });
  await page.click(".object-tools [data-kind='Point']");
  await page.mouse.click(600, 200);
  await page.waitForSelector(".object-geometry-text:has-text('Point')");
  await field(page, "title").fill("Two");
  await save(page);
  await page.waitForSelector(".object-editor .problem:not(:empty)");
  await again(page);
  await page.click("button:has-text('1 not saved yet')");
  t.equal(await field(page, "title").inputValue(), "Two");
  await field(page, "title").fill("Two and more");
  await save(page);
  await page.waitForSelector(".toast:has-text('Saved.')");
  t.same(await titles("lost"), ["One", "Two and more"]);
  t.equal(keys.length, 2);
  t.equal(keys[0], keys[1]);
  await page.context().close();
});

t.test("what is no value, and what is drawn and not ended, outlive the page", async (t) => {
  await made("half", { title: "One" });
  const page = await opened("half");
  await page.click("[data-kind='LineString']");
  await page.waitForSelector(".map.drawing");
  await page.mouse.click(500, 270);
  await page.mouse.click(620, 270);
  await field(page, "height").fill("1 metre");
  await again(page);
  await page.click("button:has-text('1 not saved yet')");
  t.equal(await field(page, "height").inputValue(), "1 metre");
  t.equal(await page.locator("[data-code='height'] .field-problem").isVisible(), true);
  await page.waitForSelector(".map.drawing");
  await page.mouse.click(620, 340);
  await field(page, "height").fill("1");
  // It is saved with what is drawn so far.
  await page.keyboard.press("Control+s");
  await page.waitForSelector(".toast:has-text('Saved.')");
  const [, made2] = (await api("GET", "half/layers/sites/objects/?fields=*&returnGeom=1")).json;
  t.equal(made2.fields.height, 1);
  t.equal(made2.geom.coordinates.length, 3);
  await page.context().close();
});

t.test(
  "a form that is closed while it is saved tells that it was not, and what is discarded comes back",
  async (t) => {
    await made("closed", { title: "One" }, { title: "Two" });
    const page = await opened("closed");
    await row(page, "One").click();
    await field(page, "title").fill("Changed");
    await page.click(".object-editor button:has-text('Undo changes')");
    t.equal(await field(page, "title").inputValue(), "One");
    await page.click(".toast button:has-text('Undo')");
    t.equal(await field(page, "title").inputValue(), "Changed");
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route("**/objects/1/?*", async (route) => {
      if (route.request().method() !== "PUT") return route.fallback();
      await held;
      return route.abort();
    });
    await save(page);
    await row(page, "Two").click();
    await page.click(".object-editor [aria-label='Close']");
    answer();
    await page.waitForSelector(".toast:has-text('It is not saved')");
    await page.click("button:has-text('1 not saved yet')");
    t.equal(await field(page, "title").inputValue(), "Changed");
    await page.context().close();
  },
);

t.test("all that are listed, or marked, get the same value, and it is undone", async (t) => {
  await made("many", { title: "A", height: 1 }, { title: "B", height: 7 }, { title: "C" }, { title: "D" });
  const page = await opened("many");
  const heights = async () => (await fieldsOf("many")).map(({ height }) => height);
  await row(page, "A").locator(".mark-cell").click();
  await row(page, "B").locator(".mark-cell").click();
  await page.click("button:has-text('Change 2')");
  await page.selectOption("#change-column", { label: "Height" });
  await page.fill("#object-field-change-height", "x");
  t.equal(await page.isDisabled(".change-form .main"), true);
  await page.fill("#object-field-change-height", "7");
  await accessible(t, page, "the same value for many");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".toast:has-text('1 object was changed.')");
  t.same(await heights(), [7, 7, null, null]);
  await page.click(".toast button:has-text('Undo')");
  await soon(t).same(heights, [1, 7, null, null]);

  await row(page, "A").locator(".mark-cell").click();
  await row(page, "B").locator(".mark-cell").click();
  await page.fill(".table-words", "D");
  await soon(t).equal(() => page.locator(".table-rows .table-row").count(), 1);
  await page.fill(".table-words", "");
  await soon(t).equal(() => page.locator(".table-rows .table-row").count(), 4);
  await page.click("button:has-text('Change all')");
  await page.selectOption("#change-column", { label: "Height" });
  await page.fill("#object-field-change-height", "9");
  await page.click(".change-form .main");
  await soon(t).same(heights, [9, 9, 9, 9]);
  await page.focus(".table-scroll");
  await page.keyboard.press("Control+z");
  await soon(t).same(heights, [1, 7, null, null]);
  await page.context().close();
});

t.test("two tabs share what is not saved", async (t) => {
  await made("tabs", { title: "One", note: "n" });
  const page = await opened("tabs");
  const stored = await page.evaluate<string>("JSON.stringify(sessionStorage)");
  const other = await page.context().newPage();
  await other.addInitScript(
    `for (const [name, text] of Object.entries(${stored})) sessionStorage.setItem(name, text)`,
  );
  await other.goto(page.url());
  await other.waitForSelector(".tree-choose");
  await openTable(other);
  await row(page, "One").click();
  // While the other one is still reading it.
  const reading = other.waitForRequest(/\/objects\/1\/\?/);
  const release = await hold(other, "**/objects/1/?*");
  await row(other, "One").click();
  await reading;
  await field(page, "title").fill("Typed here");
  await until(other, "Object.values(localStorage).some((text) => text.includes('Typed here'))");
  await other.waitForTimeout(200);
  release();
  await soon(t).equal(() => field(other, "title").inputValue(), "Typed here");
  await field(other, "note").fill("typed there");
  await soon(t).equal(() => field(page, "note").inputValue(), "typed there");
  await save(page);
  await soon(t).same(
    async () => (await fieldsOf("tabs")).map(({ title, note }) => [title, note]),
    [["Typed here", "typed there"]],
  );
  await soon(t).equal(() => other.locator(".object-editor .unsaved").isVisible(), false);
  await page.context().close();
});
