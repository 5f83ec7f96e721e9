import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { onRequests, openPage, soon, startBrowser } from "../viewer/support.js";
import { signIn } from "./support.js";

/** Two people who change the same map: who comes second is told, unless it was about something else. */

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

t.test("two who change the same are told, and who insists has the last word", async (t) => {
  const page = await opened("contested", "a", "b");
  const folder = (await server.api("POST", "contested/folders/", { token, body: { code: "f" } })).json;
  await page.reload();
  await row(page, "f").waitFor();
  const patch = (path: string, body: object) => server.api("PATCH", `contested/${path}/`, { token, body });
  const named = async (code: string) => (await nodes("contested")).find((node) => node.code === code)!;
  const matches: (string | undefined)[] = [];
  page.on("request", (request) => {
    if (["PATCH", "DELETE"].includes(request.method())) matches.push(request.headers()["if-match"]);
  });
  await focus(page, "a");
  await page.keyboard.press("F2");
  await page.keyboard.type("Mine");
  await patch("layers/a", { name: "Theirs", parent_id: 0 });
  await page.keyboard.press("Enter");
  await page.waitForSelector(".toast:has-text('it is called Theirs now')");
  await soon(t).same(async () => (await names(page)).includes("Theirs"), true);
  await page.click(".toast button:has-text('Do it all the same')");
  await soon(t).equal(async () => (await named("a")).name, "Mine");
  await soon(t).ok(async () => (await names(page)).includes("Mine"));

  await patch("folders/f", { name: "Folder", parent_id: 0 });
  await focus(page, "b");
  await patch("layers/b", { parent_id: folder.id });
  await page.keyboard.press("Alt+ArrowUp");
  await page.waitForSelector(".toast:has-text('has moved b')");
  t.equal((await named("b")).parent_id, folder.id, "it is where the other has put it");

  await soon(t).same(async () => (await names(page)).includes("Folder"), true);
  await focus(page, "Folder");
  await page.keyboard.press("Delete");
  await page.waitForSelector("text=Delete Folder?");
  await patch("folders/f", { name: "Important", parent_id: 0 });
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".toast:has-text('It was not deleted')");
  t.equal((await named("f")).name, "Important");

  // Between reading and writing: about something else, so that nobody is asked.
  let isFirst = true;
  await onRequests(page, /\/contested\/layers\/a\/(?:\?|$)/, async (route) => {
    if (isFirst && route.request().method() === "PATCH") {
      isFirst = false;
      await patch("layers/a", { css_style: "#a { polygon-fill: #101010; }", parent_id: 0 });
    }
    await route.continue();
  });
  await focus(page, "Mine");
  await page.keyboard.press("F2");
  await page.keyboard.type("Mine again");
  await page.keyboard.press("Enter");
  await soon(t).equal(async () => (await named("a")).name, "Mine again");
  t.equal((await named("a")).css_style, "#a { polygon-fill: #101010; }");
  t.equal(isFirst, false);
  t.ok(
    matches.length >= 3 && matches.every((match) => match?.startsWith('"')),
    "each names what it is meant for",
  );
  await page.context().close();
});

t.test("two who publish: what the other has chosen is not replaced unseen", async (t) => {
  const page = await opened("twofold", "a", "b");
  const publish = (...on: readonly boolean[]) =>
    nodes("twofold").then((all) =>
      server.api("POST", "twofold/publish/", {
        token,
        body: all.map(({ id }, at) => ({ id, parent_id: 0, map_layer_id: id, selected: on[at] })),
      }),
    );
  await publish(true, true);
  const selected = async () => (await nodes("twofold", "publish")).map((node) => node.selected);
  await row(page, "b").locator("input").uncheck();
  await page.click(".share");
  await page.waitForSelector(".publish-shown button");
  await publish(false, false);
  await page.click(".publish-shown button");
  await page.waitForSelector(".tool-dialog .problem:has-text('what readers see')");
  t.same(await selected(), [false, false]);
  await page.click(".publish-shown button");
  await soon(t).same(selected, [true, false]);
  await server.api("PATCH", "twofold/", { token, body: { name: "Theirs" } });
  await page.fill("#publish-title", "Mine");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".tool-dialog .problem:has-text('it is called Theirs now')");
  t.equal(await page.inputValue("#publish-title"), "Mine", "what was written stays");
  await page.keyboard.press("Enter");
  await soon(t).equal(async () => (await server.api("GET", "twofold/", { token })).json.name, "Mine");
  await page.context().close();
});
