import type { Page } from "playwright-core";
import t from "tap";
import { differing } from "../../src/viewer/browser/console/past/differing.js";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, areas, signIn } from "./support.js";

/** The bin and the history in the console: what was deleted comes back, what was changed is compared and undone. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });
async function made(map: string, ...layers: readonly string[]): Promise<void> {
  await api("POST", "", { code: map, name: map.toUpperCase() });
  for (const code of layers) {
    await api("POST", `${map}/layers/`, { code, name: `The ${code}` });
    await api("POST", `${map}/layers/${code}/import/`, JSON.parse(areas("A", "B")));
  }
}
async function opened(map?: string, login = "admin", options: Parameters<typeof openPage>[2] = {}) {
  const hash = map === undefined ? "#project=p" : `#project=p&map=${map}`;
  const { page, problems } = await openPage(browser, `${server.url}/console/${hash}`, {
    waitForMap: false,
    ...options,
  });
  await signIn(page, login);
  await page.waitForSelector(".user-button");
  await page.waitForSelector(map === undefined ? ".home-card" : ".leaflet-container");
  return { page, problems };
}
async function past(page: Page, tab: "bin" | "history" = "bin"): Promise<void> {
  await page.locator(".user-button").click();
  await page.locator(".menu-entry", { hasText: "Bin and history" }).click();
  await page.waitForSelector("#people-tab-bin[aria-selected='true']:focus");
  if (tab === "history") await page.keyboard.press("ArrowRight");
}
const rows = (page: Page) => page.locator(".past-table tbody tr");
const note = (page: Page, text: string) => page.waitForSelector(`.people-note:has-text("${text}")`);
const layersOf = async (map: string): Promise<string[]> =>
  (await api("GET", `${map}/layers/?type=full`)).json.map(({ code }: { code: string }) => code).sort();

t.test("a map, a layer and a column come back with all that they had", async (t) => {
  await made("town", "trees", "paths");
  await made("coast", "sand");
  const { page, problems } = await opened("town");
  await past(page);
  await page.waitForSelector("text=The bin is empty.");
  await accessible(t, page, "an empty bin");
  await page.keyboard.press("Escape");
  await api("DELETE", "town/layers/trees/structure/name/");
  await api("DELETE", "town/layers/paths/");
  await api("DELETE", "coast/");
  await past(page);
  await soon(t).equal(() => rows(page).count(), 3);
  await accessible(t, page, "a bin");
  t.match(await rows(page).allInnerTexts(), [
    /COAST\s+Map/,
    /The paths\s+Layer · town/,
    /name\s+Column · town · trees/,
  ]);
  for (const name of ["COAST", "The paths", "name"]) {
    await page.click(`[aria-label='Restore ${name}']`);
    await note(page, `${name} is back.`);
  }
  await page.waitForSelector("text=The bin is empty.");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".tree-choose:has-text('The paths')");
  const { json: objects } = await api("GET", "town/layers/trees/objects/?fields=name");
  t.same(objects.map(({ fields }: { fields: { name: string } }) => fields.name).sort(), ["A", "B"]);
  t.same(await layersOf("coast"), ["sand"]);
  t.same(problems, []);
});

t.test("where its code is taken it gets another one, and what is not wanted goes for good", async (t) => {
  await made("hill", "stones");
  await api("DELETE", "hill/layers/stones/");
  await api("POST", "hill/layers/", { code: "stones", name: "Others" });
  const { page } = await opened("hill");
  await past(page);
  await page.locator("[aria-label='Restore The stones']").focus();
  await page.keyboard.press("Enter");
  await note(page, "it is now stones_2");
  t.same(await layersOf("hill"), ["stones", "stones_2"]);
  t.equal(
    await page.evaluate("document.activeElement.closest('dialog') !== null"),
    true,
    "the focus stays in the dialog",
  );
  for (const code of ["stones", "stones_2"]) await api("DELETE", `hill/layers/${code}/`);
  await page.click("#people-tab-bin");
  await page.click("[aria-label='Delete Others for good']");
  await page.click(".tool-dialog .danger");
  await note(page, "Deleted for good.");
  t.equal(await rows(page).count(), 1);
  await page.click("text=Empty the bin");
  await accessible(t, page, "the question");
  await page.click(".tool-dialog .danger");
  await page.waitForSelector("text=The bin is empty.");
  t.equal((await api("GET", "bin/")).json.entries.length, 0);
});

t.test("a style is compared with what was there before, and set back", async (t) => {
  await made("lake", "water");
  const style = (colour: string) => `#water {\n  polygon-fill: ${colour};\n  polygon-opacity: 0.5;\n}`;
  const { id, parent_id } = (await api("GET", "lake/layers/water/")).json;
  await api("PATCH", "lake/layers/water/", { parent_id, css_style: style("#f00") });
  await api("PATCH", "lake/layers/water/", { parent_id, css_style: style("#0f0"), name: "Lakes" });
  const { page, problems } = await opened("lake");
  await page.click(".tree-choose:has-text('Lakes')");
  await past(page, "history");
  await rows(page).first().waitFor();
  await accessible(t, page, "the history of a map");
  t.match(await rows(page).first().innerText(), /Lakes\s+Layer · LAKE\s+style, name[\s\S]*admin/);
  await rows(page).first().locator("text=Compare").click();
  await page.waitForSelector(".past-value");
  await accessible(t, page, "a comparison");
  const shown = await page.locator(".past-value").allInnerTexts();
  t.match(
    shown.find((text) => text.includes("#f00")),
    /^#water \{\n {2}polygon-fill: #f00;\n {2}polygon-opacity/,
  );
  t.ok(shown.includes("Lakes") && shown.includes("The water"));
  await page.click(".people-bar [aria-label='Back']");
  await rows(page).first().locator("text=Undo").click();
  await note(page, "Undone.");
  t.match((await api("GET", "lake/layers/water/")).json, { id, css_style: style("#f00"), name: "The water" });
  await page.keyboard.press("Escape");
  await page.waitForSelector(".tree-choose:has-text('The water')");
  t.same(problems, []);
});

t.test("changes of objects are those of a request, and are undone together", async (t) => {
  await made("field", "grain");
  const { page, problems } = await opened("field");
  const { json: objects } = await api("GET", "field/layers/grain/objects/?fields=name");
  const ids: readonly number[] = objects.map((one: { id: number }) => one.id);
  await api("PUT", `field/layers/grain/objects/${ids[0]}/`, { fields: { name: "C" } });
  await api(
    "POST",
    "field/layers/grain/objects/bulk/",
    ids.map((id) => ({ op: "delete", id })),
  );
  await past(page, "history");
  await page.selectOption("#history-of", "objects");
  await rows(page).first().waitFor();
  t.match(await rows(page).allInnerTexts(), [
    /2 objects were deleted/,
    /1 object was changed/,
    /objects were made|replaced/,
  ]);
  await rows(page).nth(1).locator("text=Compare").click();
  await page.waitForSelector(".past-value");
  t.same(await page.locator(".past-value").allInnerTexts(), ["A", "C"]);
  await page.click(".people-bar [aria-label='Back']");
  await rows(page).first().locator("text=Undo").click();
  await note(page, "Undone.");
  t.equal((await api("GET", "field/layers/grain/count/?precise=1")).json, 2);
  t.same(problems, []);
});

t.test("who may edit one map sees what of it may come back, and no history of the others", async (t) => {
  await made("garden", "beds");
  await made("cellar", "wine");
  const { json: member } = await api("POST", "members/", {
    login: "gardener",
    role: "viewer",
    password: "gardenergardener",
  });
  await api("PATCH", `members/${member.id}/`, { grants: [{ map: "garden", rights: 7 }] });
  await api("DELETE", "garden/layers/beds/");
  await api("DELETE", "cellar/layers/wine/");
  const { page, problems } = await opened("garden", "gardener", { viewport: { width: 360, height: 740 } });
  await past(page);
  await soon(t).equal(() => rows(page).count(), 1);
  await accessible(t, page, "a bin on a phone");
  const wide = "[document.documentElement.scrollWidth, innerWidth]";
  const [inner, outer] = await page.evaluate<[number, number]>(wide);
  t.equal(inner, outer, "nothing is wider than the phone");
  t.equal(await page.locator("text=Empty the bin").count(), 0);
  await page.click("[aria-label='Restore The beds']");
  await note(page, "is back.");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".tree-choose:has-text('The beds')", { state: "attached" });
  await past(page, "history");
  t.same(await page.locator("#history-of option").allInnerTexts(), ["objects of this map"]);
  t.same(problems, []);
});

t.test("texts are compared without the lines in which they are the same", (t) => {
  t.same(differing("a", "b"), ["a", "b"]);
  t.same(differing("1\n2\n3\n4\n5", "1\n2\nx\n4\n5"), ["…\n2\n3\n4\n…", "…\n2\nx\n4\n…"]);
  t.same(
    differing("1\n2", "1\n2\n3"),
    ["…\n2", "…\n2\n3"].map((text) => text.replace("…\n", "…\n")),
  );
  t.same(differing("x\n1", "1"), ["x\n1", "1"]);
  t.same(differing("", "1\n2"), ["", "1\n2"]);
  t.end();
});
