import type { BrowserContext, Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible, areas, signIn } from "./support.js";

/** Styles that are not saved: they outlive the tab. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const address = `${server.url}/console/#project=p&map=drafts`;

await server.api("POST", "", { token, body: { code: "drafts" } });
for (const code of ["plain", "valued"]) {
  await server.api("POST", "drafts/layers/", { token, body: { code } });
  await server.api("POST", `drafts/layers/${code}/import/`, {
    token,
    body: JSON.parse(areas("a", "b", "c")),
  });
}
const saved = async (code: string) => (await server.api("GET", `drafts/layers/${code}/`, { token })).json;

const row = (page: Page, code: string) => page.locator(".tree-choose", { hasText: code });
const marked = (page: Page) => page.locator(".tree-draft").allTextContents();
const isUndoable = "!document.querySelector('.style-footer .button:not(.main)').hidden";

/** A tab that is opened anew, by somebody who signs in. */
async function tab(context: BrowserContext, login = "admin"): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  await signIn(page, login);
  await page.waitForSelector(".tree-choose");
  return page;
}

t.test("what is set and not saved is there again when the page was closed", async (t) => {
  const { page, problems } = await openPage(browser, address, { waitForMap: false });
  const context = page.context();
  await signIn(page, "admin");
  await row(page, "plain").click();
  await page.waitForSelector("#style-polygon-fill");
  await page.fill("#style-polygon-fill", "#123456");
  await soon(t).same(() => marked(page), ["plain"], "its row says so");
  await row(page, "valued").click();
  await page.click("#style-tab-visual");
  await page.selectOption("#visual-kind", "1");
  await page.waitForSelector(".histogram-border");
  await soon(t).same(async () => (await marked(page)).sort(), ["plain", "valued"]);
  t.notOk((await saved("valued")).visualSettings, "nothing is saved");
  await page.close();

  const again = await tab(context);
  await soon(t).same(async () => (await marked(again)).sort(), ["plain", "valued"]);
  const tried = again.waitForRequest(
    (request) => request.url().includes("/preview/") && /#123456/.test(request.postData() ?? ""),
  );
  await row(again, "plain").click();
  await tried;
  t.equal(await again.inputValue("#style-polygon-fill"), "#123456", "in the form and on the map");
  await accessible(t, again, "a layer with a draft");
  await row(again, "valued").click();
  await again.waitForSelector(".histogram-border");
  t.equal(await again.inputValue("#visual-kind"), "1", "it opens with what is not saved");

  // Somebody else has changed one of them meanwhile.
  await row(again, "plain").click();
  await again.close();
  const theirs = { parent_id: 0, css_style: "#plain { polygon-fill: #abcdef; }" };
  const changed = await server.api("PATCH", "drafts/layers/plain/", { token, body: theirs });
  t.equal(changed.status, 200, changed.text);
  const third = await tab(context);
  await row(third, "plain").click();
  await third.waitForSelector(".style-problem:not([hidden])");
  t.match(await third.textContent(".style-problem"), /somebody else|someone else/i, "which is told");
  await until(third, isUndoable);
  await third.click(".style-footer .main");
  await until(third, `!(${isUndoable})`);
  t.match((await saved("plain")).css_style, "#123456");
  await soon(t).same(() => marked(third), ["valued"], "what is saved is no draft");
  await row(third, "valued").click();
  await until(third, isUndoable);
  await third.click(".style-footer .button:not(.main)");
  await soon(t).same(() => marked(third), []);
  await third.close();

  const last = await tab(context);
  t.same(await marked(last), []);
  t.same(problems, []);
  await context.close();
});

t.test("what was saved is no draft, though the page was closed before it heard of it", async (t) => {
  const { page } = await openPage(browser, address, { waitForMap: false });
  const context = page.context();
  await signIn(page, "admin");
  await row(page, "plain").click();
  await page.waitForSelector("#style-polygon-fill");
  await page.fill("#style-polygon-fill", "#0f0f0f");
  await page.route(/layers\/plain\//, async (route) => {
    if (route.request().method() === "PATCH") await route.fetch();
    else await route.continue();
  });
  await page.click(".style-footer .main");
  await soon(t).match(async () => (await saved("plain")).css_style, "#0f0f0f");
  await page.close();
  const again = await tab(context);
  t.same(await marked(again), []);
  await row(again, "plain").click();
  await again.waitForSelector("#style-polygon-fill");
  t.equal(await again.inputValue("#style-polygon-fill"), "#0f0f0f");
  t.equal(await again.isDisabled(".style-footer .main"), true);
  await context.close();
});

t.test("nobody sees the drafts of others who use the same browser", async (t) => {
  const { page } = await openPage(browser, address, { waitForMap: false });
  const context = page.context();
  await signIn(page, "admin");
  await row(page, "plain").click();
  await page.waitForSelector("#style-polygon-fill");
  await page.fill("#style-polygon-fill", "#654321");
  await soon(t).same(() => marked(page), ["plain"]);
  await page.close();
  const theirs = await tab(context, "editor");
  t.same(await marked(theirs), []);
  await row(theirs, "plain").click();
  await theirs.waitForSelector("#style-polygon-fill");
  t.not(await theirs.inputValue("#style-polygon-fill"), "#654321");
  await context.close();
});
