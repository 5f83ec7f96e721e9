import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, area, signIn } from "./support.js";

/** What of a map is seen at first, what is drawn below it, and what it is about, is set in the console, and is what readers see. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const post = (path: string, body: object) => server.api("POST", path, { token, body });
await post("", { code: "land" });
await post("land/layers/", { code: "fields" });
for (const x of [0, 40]) await post("land/layers/fields/objects/", { fields: {}, geom: area(x) });
const saved = async (): Promise<number[] | null> =>
  (await server.api("GET", "land/")).json.start_view ?? null;
const described = async (): Promise<string> => (await server.api("GET", "land/")).json.comment ?? "";

interface Seen {
  readonly zoom: number;
  readonly lat: number;
  readonly lon: number;
}
/** What an address says that the page shows. */
const seenBy = (page: Page): Seen => {
  const values = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const [zoom = Number.NaN, lat = Number.NaN, lon = Number.NaN] = ["z", "lat", "lon"].map((name) =>
    Number(values.get(name) ?? Number.NaN),
  );
  return { zoom, lat, lon };
};
/** Opens an address as a reader, and waits until it says where the map is. */
async function read(address: string, options: object = {}): Promise<Seen> {
  const { page, problems } = await openPage(browser, `${server.url}/${address}`, options);
  await page.waitForURL(/[#&]z=/);
  t.same(problems, []);
  const seen = seenBy(page);
  await page.context().close();
  return seen;
}
const link = "#project=p&map=land";

t.test("readers start with what the console has shown, and with all data again", async (t) => {
  const all = await read(link);
  const { page, problems } = await openPage(browser, `${server.url}/console/${link}`, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  // Nearer to the eastern one of the two.
  for (const step of [1, 2]) {
    await page.click("[aria-label='Zoom in']");
    // While it still zooms, it takes no other step.
    await soon(t).equal(() => seenBy(page).zoom, all.zoom + step);
    await soon(t).equal(() => page.locator(".leaflet-zoom-anim").count(), 0);
  }
  await page.focus("#map");
  await page.keyboard.press("ArrowRight");
  await page.click(".share");
  await page.waitForSelector("text=all of its data in sight");
  t.equal(await page.locator(".start-all").isVisible(), false);
  await page.click(".start-here");
  await page.waitForSelector("text=opens with the part that was chosen");
  await accessible(t, page, "a start view that is chosen");
  t.equal(
    await page.evaluate("document.activeElement?.className"),
    "button start-here",
    "it keeps the focus",
  );
  const view = (await saved())!;
  t.ok(view[0]! > -180 && view[2]! - view[0]! < 60, `${view}`);

  const reader = await read(link);
  t.equal(reader.zoom, all.zoom + 2, "a page of that size shows it as the console has");
  t.ok(reader.lon > view[0]! && reader.lon < view[2]!, JSON.stringify({ reader, view }));
  const named = { zoom: 3, lat: 10, lon: 20 };
  t.same(await read(`${link}&z=3&lat=10&lon=20`), named, "an address that names a place goes there");
  const small = { viewport: { width: 390, height: 844 } };
  for (const [name, seen] of [
    ["a phone", await read(link, small)],
    ["a page of others", await read(`embed${link}`, { viewport: { width: 600, height: 400 } })],
  ] as const) {
    t.ok(seen.zoom <= reader.zoom && seen.zoom >= all.zoom, `${name}: zoom ${seen.zoom}`);
    t.ok(Math.abs(seen.lon - (view[0]! + view[2]!) / 2) < 5, `${name}: ${JSON.stringify({ seen, view })}`);
  }

  // What somebody else has chosen meanwhile is not replaced unseen.
  await server.api("PATCH", "land/", { token, body: { start_view: [1, 2, 3, 4] } });
  await page.click(".start-all");
  await page.waitForSelector(".tool-dialog .problem:has-text('what the map starts with')");
  t.same(await saved(), [1, 2, 3, 4]);
  await page.click(".start-all");
  await page.waitForSelector("text=all of its data in sight");
  t.equal(await saved(), null);
  t.ok(
    await page.evaluate("document.querySelector('.tool-dialog').contains(document.activeElement)"),
    "something of the dialog has the focus",
  );
  t.same(await read(link), all);
  t.same(
    problems.filter((problem) => !problem.includes("412")),
    [],
  );
  await page.context().close();
});

t.test("on a phone the dialog has room for it", async (t) => {
  const { page } = await openPage(browser, `${server.url}/console/${link}`, {
    waitForMap: false,
    viewport: { width: 360, height: 640 },
  });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose", { state: "attached" });
  await page.click(".share");
  await page.click(".start-here");
  await page.waitForSelector("text=opens with the part that was chosen");
  const cutOff = await page.evaluate<string[]>(`(() => {
    const dialog = document.querySelector(".tool-dialog");
    const end = dialog.getBoundingClientRect().left + dialog.clientWidth;
    return [...(dialog.scrollWidth > dialog.clientWidth ? [dialog] : []), ...dialog.querySelectorAll("*")].filter((one) => one === dialog || one.getBoundingClientRect().right > end).map((one) => one.className + one.textContent);
  })()`);
  t.same(cutOff, []);
  const [west = 0, , east = 0] = (await saved())!;
  t.ok(west < 0 && east > 44, "all that the phone shows");
  await accessible(t, page, "the dialog on a phone");
  await page.context().close();
});

t.test("who does not administer the map reads what it starts with", async (t) => {
  const { page } = await openPage(browser, `${server.url}/console/${link}`, { waitForMap: false });
  await signIn(page, "editor");
  await page.waitForSelector(".tree-choose");
  await page.click(".share");
  await page.waitForSelector("text=opens with the part that was chosen");
  t.equal(await page.isDisabled(".start-here"), true);
  t.equal(await page.isDisabled(".start-all"), true);
  await page.context().close();
});

t.test("a start view is shown as large as it is, and across 180°", async (t) => {
  const seenAt = async (start_view: readonly number[], address = link) => {
    await server.api("PATCH", "land/", { token, body: { start_view } });
    return read(address);
  };
  const close = await seenAt([12.48, 41.89, 12.481, 41.8906]);
  t.ok(close.zoom > 16, `zoom ${close.zoom}`);
  const far = await seenAt([-180, -85, 180, 85]);
  t.ok(far.zoom <= 3, `zoom ${far.zoom}`);
  const across = await seenAt([175, -5, 195, 5]);
  t.ok(Math.abs(Math.abs(across.lon) - 180) < 8, `lon ${across.lon}`);
  const object = (await server.api("GET", "land/layers/fields/objects/")).json[0].id;
  const fields = (await server.api("GET", "land/layers/fields/")).json.id;
  const { page } = await openPage(browser, `${server.url}/${link}&object=${fields}.${object}`);
  await page.waitForSelector(".object h2");
  await soon(t).match(() => page.url(), /lon=-?\d\./, "an object that is named is gone to");
  await page.context().close();
});

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
  await soon(t).equal(described, text);
  await soon(t).equal(() => submit.isVisible(), false);
  await accessible(t, page, "a description that is saved");

  await server.api("PATCH", "land/", { token, body: { comment: "Theirs" } });
  await page.fill("#publish-description", "Mine");
  await submit.click();
  await page.waitForSelector(".tool-dialog .problem:has-text('changed the description')");
  t.equal(await described(), "Theirs");
  t.equal(await page.inputValue("#publish-description"), "Mine", "what was written stays");
  await submit.click();
  await soon(t).equal(described, "Mine");
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

t.test("who has the map open in another console sees its new base map and title", async (t) => {
  const { page, problems } = await openPage(browser, `${server.url}/console/${link}`, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  const { name } = (await server.api("GET", "land/", { token })).json;
  const own = await page.textContent(".base-row small");
  await page.waitForTimeout(500);
  await server.api("PATCH", "land/", { token, body: { base_map: "none", name: "Lands" } });
  await page.waitForSelector(".chooser-title:has-text('Lands')");
  await soon(t).equal(() => page.locator(".base-row").isVisible(), false);
  await server.api("PATCH", "land/", { token, body: { base_map: null, name } });
  await soon(t).equal(() => page.locator(".base-row").isVisible(), true);
  await soon(t).equal(() => page.textContent(".base-row small"), own);
  t.same(problems, []);
  await page.context().close();
});

t.test("a base map is chosen: the map behind has it at once, and readers have it", async (t) => {
  const base = async () => (await server.api("GET", "land/")).json.base_map ?? null;
  const { page, problems } = await openPage(browser, `${server.url}/console/${link}`, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await page.click(".share");
  t.equal(await page.inputValue("#publish-base"), "");
  await page.focus("#publish-base");
  await page.selectOption("#publish-base", "builtin-muted");
  await soon(t).equal(base, "builtin-muted");
  await soon(t).equal(() => page.textContent(".base-row small"), "Land, water and borders");
  await soon(t).equal(() => page.evaluate("document.activeElement.id"), "publish-base");
  await accessible(t, page, "a base map that is chosen");
  const reader = await openPage(browser, `${server.url}/${link}`);
  await soon(t).equal(() => reader.page.textContent(".base-row small"), "Land, water and borders");
  await page.selectOption("#publish-base", "none");
  await soon(t).equal(base, "none");
  await soon(t).equal(() => page.locator(".base-row").isVisible(), false);
  await soon(t).equal(() => reader.page.locator(".base-row").isVisible(), false, "who looks at it sees it");
  t.same(reader.problems, []);

  await server.api("PATCH", "land/", { token, body: { base_map: "builtin-dark" } });
  await page.selectOption("#publish-base", "");
  await page.waitForSelector(".tool-dialog .problem:has-text('changed the base map')");
  t.equal(await page.inputValue("#publish-base"), "builtin-dark", "it shows theirs");
  await page.selectOption("#publish-base", "");
  await soon(t).equal(base, null);
  await soon(t).equal(() => reader.page.locator(".base-row").isVisible(), true);
  await reader.page.context().close();
  t.same(
    problems.filter((problem) => !problem.includes("412")),
    [],
  );
  await page.context().close();
});
