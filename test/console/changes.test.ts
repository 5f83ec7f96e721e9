import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { hold, onRequests, openPage, soon, startBrowser, until } from "../viewer/support.js";
import { styleText } from "./style-source.support.js";
import { areas, drop, signIn } from "./support.js";

/** Changes that meet others: late answers, another map that is opened, other people. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const address = (map: string) => `#project=p&map=${map}`;

/** Makes a map with layers, and opens it. */
async function opened(map: string, ...codes: readonly string[]): Promise<Page> {
  await made(map, ...codes);
  const { page } = await openPage(browser, `${server.url}/console/${address(map)}`, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  return page;
}
async function made(map: string, ...codes: readonly string[]): Promise<void> {
  await server.api("POST", "", { token, body: { code: map } });
  for (const code of codes) await server.api("POST", `${map}/layers/`, { token, body: { code } });
}
/** Its layers and folders. */
const nodes = async (map: string, type = "full"): Promise<Record<string, unknown>[]> =>
  (await server.api("GET", `${map}/layers/?type=${type}&returnCss=1`, { token })).json;
const row = (page: Page, name: string) => page.locator(`.tree-row:has(.tree-choose:text-is("${name}"))`);
const focus = (page: Page, name: string) => row(page, name).locator(".tree-choose").focus();
const names = (page: Page) => page.locator(".tree-choose").allTextContents();
const goTo = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
const titled = (page: Page, map: string) => page.waitForSelector(`.chooser-title:has-text("${map}")`);

t.test("an action belongs to the map that it was begun in", async (t) => {
  await made("far", "roads");
  const page = await opened("near", "roads", "rails");
  await goTo(page, address("far"));
  await titled(page, "far");
  await goTo(page, address("near"));
  await titled(page, "near");
  await focus(page, "roads");
  await page.keyboard.press("Delete");
  await page.waitForSelector("text=Delete roads?");
  await page.evaluate("history.back()");
  await titled(page, "far");
  t.equal(await page.locator(".tool-dialog").count(), 0, "the question goes with its map");
  t.equal((await nodes("far")).length, 1);

  await page.evaluate("history.forward()");
  await titled(page, "near");
  await focus(page, "roads");
  await page.keyboard.press("F2");
  await page.keyboard.type("Streets");
  await goTo(page, address("far"));
  await titled(page, "far");
  await soon(t).same(async () => (await nodes("near")).map(({ name }) => name).sort(), ["", "Streets"]);
  t.equal((await nodes("far"))[0]?.name, "");

  await goTo(page, address("near"));
  await titled(page, "near");
  await focus(page, "Streets");
  await page.keyboard.press("Delete");
  await page.waitForSelector("text=Delete Streets?");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".toast button:has-text('Undo')");
  await soon(t).equal(() => page.evaluate("document.activeElement?.textContent"), "rails");
  await goTo(page, "#project=p");
  await page.waitForSelector(".home-card");
  await page.click(".toast button:has-text('Undo')");
  await soon(t).equal(async () => (await nodes("near")).length, 2);
  await page.context().close();
});

t.test("steps that are pressed fast are made one after the other, into folders and out too", async (t) => {
  const page = await opened("steps", "a", "b", "c", "d");
  await onRequests(page, "**/layers/**", async (route) => {
    await page.waitForTimeout(100);
    await route.continue();
  });
  await focus(page, "a");
  for (let at = 0; at < 3; at++) await page.keyboard.press("Alt+ArrowDown");
  await soon(t).same(async () => (await nodes("steps")).map(({ code }) => code), ["b", "c", "d", "a"]);
  await soon(t).same(() => names(page), ["b", "c", "d", "a"]);
  await server.api("POST", "steps/folders/", { token, body: { code: "f", sort: 3 } });
  await page.reload();
  await soon(t).same(() => names(page), ["b", "c", "f", "d", "a"]);
  await focus(page, "d");
  await page.keyboard.press("Alt+ArrowRight");
  const inner = () => page.locator(".tree-list .tree-list .tree-choose").allTextContents();
  await soon(t).same(inner, ["d"]);
  await focus(page, "d");
  await page.keyboard.press("Alt+ArrowLeft");
  await soon(t).same(inner, []);
  t.same(await names(page), ["b", "c", "f", "d", "a"]);
  await page.context().close();
});

t.test("a late answer does not bring back what was before", async (t) => {
  const page = await opened("late", "a");
  await page.click(".tree-choose");
  await page.click("#style-tab-text");
  let isFirst = true;
  const asked = page.waitForRequest("**/late/layers/?*type=full*");
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await onRequests(page, "**/late/layers/?*type=full*", async (route) => {
    const answer = await route.fetch();
    if (isFirst) {
      isFirst = false;
      await held;
    }
    await route.fulfill({ response: answer });
  });
  await drop(page, { name: "New.geojson", text: areas("A") });
  await asked;
  const css = "#a { polygon-fill: #123456; }";
  await page.fill("#style-text-field", css);
  await page.click(".style-footer .main");
  await soon(t).same(() => names(page), ["New", "a"]);
  await until(page, "document.querySelector('.style-footer .main').disabled");
  const answered = page.waitForResponse("**/late/layers/?*type=full*");
  release();
  await answered;
  await page.waitForTimeout(200);
  t.equal(await styleText(page), css);
  await page.context().close();
});

t.test("what others have done meanwhile stays", async (t) => {
  const page = await opened("shared", "a", "b");
  // It does not hear of others, as where a proxy lets no stream through, and finds out when it saves.
  const stream = /\/shared\/changes\//;
  await page.route(stream, (route) => route.abort());
  await page.reload();
  await page.waitForSelector(".tree-choose");
  const folder = (await server.api("POST", "shared/folders/", { token, body: { code: "f" } })).json;
  const patch = (body: object) => server.api("PATCH", "shared/layers/a/", { token, body });
  await patch({ parent_id: folder.id });
  await focus(page, "a");
  await page.keyboard.press("F2");
  await page.keyboard.type("Ways");
  await page.keyboard.press("Enter");
  const layer = async () => (await nodes("shared")).find(({ code }) => code === "a")!;
  await soon(t).equal(async () => (await layer()).name, "Ways");
  t.equal((await layer()).parent_id, folder.id, "it is where somebody else has moved it");

  await soon(t).equal(() => page.locator(".tree-list .tree-list .tree-choose").count(), 1);
  await row(page, "Ways").locator(".tree-choose").click();
  await page.click("#style-tab-text");
  const theirs = "#a { polygon-fill: #111111; }";
  const mine = "#a { polygon-fill: #222222; }";
  await page.fill("#style-text-field", mine);
  await patch({ parent_id: folder.id, css_style: theirs });
  await page.click(".style-footer .main");
  await page.waitForSelector(".style-problem:has-text('Somebody else has changed this style')");
  t.equal((await layer()).css_style, theirs);
  t.equal(await styleText(page), mine, "the draft is kept");
  await page.click(".style-footer .main");
  await soon(t).equal(async () => (await layer()).css_style, mine);

  // With the stream it is told at once.
  await page.unroute(stream);
  await page.reload();
  await row(page, "Ways").locator(".tree-choose").click();
  await page.click("#style-tab-text");
  await page.fill("#style-text-field", `${mine} /* more */`);
  // Else theirs may come before the page has taken the text.
  await page.waitForSelector(".tree-draft");
  await patch({ parent_id: folder.id, css_style: theirs });
  await page.waitForSelector(".style-problem:has-text('Somebody else has changed this style')");
  t.equal(await styleText(page), `${mine} /* more */`);
  await page.context().close();
});

t.test("names are written on while the tree is loaded", async (t) => {
  const page = await opened("names", "a", "b");
  await row(page, "b").locator("input").uncheck();
  const release = await hold(page, "**/names/layers/?*type=full*");
  const asked = page.waitForRequest("**/names/layers/?*type=full*");
  await focus(page, "a");
  await page.keyboard.press("Alt+ArrowDown");
  await asked;
  await focus(page, "b");
  await page.keyboard.press("F2");
  await page.keyboard.type("Bri");
  const answered = page.waitForResponse("**/names/layers/?*type=full*");
  release();
  await answered;
  await page.waitForTimeout(200);
  await page.keyboard.type("dges");
  await page.keyboard.press("Enter");
  await soon(t).same(() => names(page), ["Bridges", "a"]);
  await page.context().close();
});

t.test("who is at a button of a row stays there when others change the tree", async (t) => {
  const page = await opened("stays", "roads", "rails");
  const label = () => page.evaluate("document.activeElement?.getAttribute('aria-label')");
  for (const [control, name] of [
    [".tree-menu", "paths"],
    ["input", "ways"],
  ] as const) {
    await row(page, "roads").locator(control).focus();
    const before = await label();
    await server.api("PATCH", "stays/layers/rails/", { token, body: { parent_id: 0, name } });
    await row(page, name).waitFor();
    t.equal(await label(), before);
  }
  await page.context().close();
});

t.test("publishing changes nothing that was chosen before", async (t) => {
  const page = await opened("chosen", "a", "b");
  const isPublic = async () => (await server.api("GET", "chosen/", { token })).json.has_publication;
  await page.click(".share");
  await page.click("label[for='publish-private']");
  await page.waitForSelector("text=This map is private");
  await page.keyboard.press("Escape");
  await row(page, "b").locator("input").uncheck();
  await page.click(".share");
  await page.waitForSelector(".tool-dialog");
  t.equal(await page.isChecked("#publish-private"), true);
  t.equal(await isPublic(), false);
  t.same(
    (await nodes("chosen", "publish")).map(({ selected }) => selected),
    [true, true],
  );
  await page.click(".publish-shown button");
  await soon(t).same(
    async () => (await nodes("chosen", "publish")).map(({ selected }) => selected),
    [true, false],
  );
  t.equal(await isPublic(), false);
  await soon(t).equal(() => page.locator(".publish-shown").isVisible(), false);
  // What is asked for twice is done in this order.
  const release = await hold(page, "**/api/2.8/p/chosen/?*");
  await page.click("label[for='publish-public']");
  t.equal(await page.isDisabled("#publish-private"), true);
  release();
  await page.waitForSelector("text=This map is public");
  t.equal(await isPublic(), true);
  await page.context().close();
});

t.test("layers that are made after a publication are published, in their places", async (t) => {
  const page = await opened("grown", "a");
  const [{ id }] = (await nodes("grown")) as [{ id: number }];
  const body = [{ id: 1, parent_id: 0, map_layer_id: id, selected: true, icon: "/icons/a.png" }];
  await server.api("POST", "grown/publish/", { token, body });
  await drop(page, { name: "New.geojson", text: areas("A") });
  await page.waitForSelector(".import[data-state='done']");
  await soon(t).same(() => names(page), ["New", "a"]);
  t.equal(await row(page, "New").locator("input").isChecked(), true, "what is new is on");
  await page.reload();
  await row(page, "New").locator("input").check();
  await page.click(".share");
  await page.click(".publish-shown button");
  const published = async () =>
    (await nodes("grown", "publish")).map(({ name, code, selected }) => [name || code, selected]);
  await soon(t).same(published, [
    ["New", true],
    ["a", true],
  ]);
  t.equal((await nodes("grown", "publish"))[1]?.icon, "/icons/a.png");
  await page.context().close();
});

t.test("a style that others save between the tree and the stream is shown", async (t) => {
  await made("between", "roads");
  const { page } = await openPage(browser, "about:blank", { waitForMap: false });
  const release = await hold(page, "**/changes/**");
  await page.goto(`${server.url}/console/${address("between")}`);
  const asked = page.waitForRequest((request) => request.url().includes("/changes/"));
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await asked;
  const css_style = "#layer { line-color: #123456; line-width: 3; }";
  await server.api("PATCH", "between/layers/roads/", { token, body: { parent_id: 0, css_style } });
  release();
  await page.click(".tree-choose");
  await page.click("#style-tab-text");
  await soon(t).equal(() => styleText(page), css_style);
  await page.context().close();
});

t.test("who has a map open that others delete or rename is told at once", async (t) => {
  for (const [method, body] of [["DELETE"], ["PATCH", { code: "elsewhere" }]] as const) {
    const code = `left-${method.toLowerCase()}`;
    const page = await opened(code, "roads");
    await server.api(method, `${code}/`, { token, ...(body && { body }) });
    await page.waitForSelector("text=It is not there any more", { timeout: 20_000 });
    await page.close();
  }
  t.pass();
});
