import { createServer } from "node:http";
import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pictureComplete, soon, startBrowser } from "./support.js";

/** Links, maps in pages of others, and bookmarks, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

type Page = Awaited<ReturnType<typeof openPage>>["page"];

async function signIn(page: Page): Promise<void> {
  await page.click(".stage button");
  await page.fill("input[autocomplete=username]", "viewer");
  await page.fill("input[type=password]", "viewerviewer");
  await page.click("dialog button.main");
  await pictureComplete(page);
}

/** A page of another origin, with these frames. */
async function otherPage(body: string): Promise<string> {
  const other = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<!doctype html><title>Other</title>${body}`);
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.teardown(() => other.close());
  return `http://localhost:${(other.address() as { port: number }).port}/`;
}

t.test("the dialog gives the link and the HTML of what is shown", async (t) => {
  const { page, problems } = await openPage(browser, `${home}&layers=${town.plans}`, {
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const clipboard = () => page.evaluate<string>("navigator.clipboard.readText()");
  await page.click(".share");
  await page.waitForSelector("dialog[open]");
  t.equal(await page.getByRole("banner").count(), 1, "the page's own, and none in it");
  await soon(t).equal(() => page.inputValue("[aria-label='Link to this view']"), page.url());
  await page.locator("dialog .copy-row .button").first().click();
  await page.waitForSelector(".toast:has-text('Link copied')");
  await soon(t).equal(() => clipboard(), page.url());
  await page.evaluate("document.querySelector('.toast').classList.add('first')");
  await page.locator("dialog .copy-row .button").first().click();
  await page.waitForSelector(".toast:not(.first):has-text('Link copied')");
  t.equal(await page.locator(".toast").count(), 1, "told again, and not a second time beside it");
  await page.selectOption("#embed-size", { label: "800 × 600" });
  await page.locator("dialog .copy-row .button").last().click();
  await page.waitForSelector("dialog .button:has-text('Copied') >> nth=1");
  const code = await clipboard();
  t.match(
    code,
    /^<iframe src="http:[^"]+\/embed#project=p&amp;map=town&amp;[^"]+" title="Town" width="800" height="600"/,
  );
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.locator("dialog").count(), 0);
  const outer = await openPage(browser, await otherPage(code), { waitForMap: false });
  const frame = outer.page.frameLocator("iframe");
  await frame.locator("[data-code=plans]").waitFor({ state: "attached" });
  await frame.locator(".leaflet-tile-loaded").first().waitFor();
  await soon(t).equal(() => frame.locator(".layers-body").isVisible(), false, "its panels are folded");
  await soon(t).equal(() => frame.locator(".sign-in-button, .segments").count(), 0);
  await soon(t).equal(() => frame.locator("a.whole").getAttribute("rel"), "noopener");
  t.same(outer.problems, []);
  t.same(problems, []);
  await outer.page.context().close();
  await page.context().close();
});

t.test("no other page can show the viewer itself, with its sessions", async (t) => {
  const { page, problems } = await openPage(browser, await otherPage(`<iframe src="${home}"></iframe>`), {
    waitForMap: false,
  });
  await page.waitForTimeout(500);
  t.match(problems.join(), /frame-ancestors/);
  await soon(t).equal(() => page.frameLocator("iframe").locator(".viewer").count(), 0);
  for (const [path, policy] of [
    ["/", "frame-ancestors 'self'"],
    ["/embed", "frame-ancestors *"],
  ] as const)
    t.ok((await fetch(server.url + path)).headers.get("content-security-policy")!.includes(policy), path);
  const moved = await fetch(`${server.url}/embed/`, { redirect: "manual" });
  t.equal(moved.status, 308);
  t.equal(new URL(moved.headers.get("location")!, `${server.url}/embed/`).pathname, "/embed");
  await page.context().close();
});

t.test("the page for frames knows no session, and lets nobody sign in", async (t) => {
  const { page, requests } = await openPage(browser, `${server.url}/#project=p&map=secret`, {
    waitForMap: false,
  });
  await signIn(page);
  await page.click(".share");
  await page.waitForSelector("text=Only public maps can be shown in other pages.");
  await soon(t).equal(() => page.locator("#embed-size").count(), 0);
  const before = requests.length;
  await page.goto(`${server.url}/embed#project=p&map=secret`);
  await page.waitForSelector("text=This map is private");
  const [opened] = await Promise.all([page.waitForEvent("popup"), page.click(".stage button")]);
  t.equal(new URL(opened.url()).pathname, "/", "signing in is for a page of its own");
  await soon(t).equal(() => page.locator("dialog").count(), 0);
  t.notOk(requests.slice(before).some((address) => address.includes("token")));
  await page.goto(`${server.url}/#project=p&map=secret`);
  await pictureComplete(page);
  t.pass("the session is still there for the viewer itself");
  await page.context().close();
});

t.test("bookmarks keep a view under a name, in this browser", async (t) => {
  const { page, problems } = await openPage(browser, `${home}&layers=${town.plans}`);
  await page.click("[aria-label=Bookmarks]");
  await page.fill("dialog [aria-label=Name]", "The <b>plans</b>");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".toast:has-text('Bookmark added')");
  await page.click("[aria-label='Rename The <b>plans</b>']");
  await page.keyboard.type("Plans");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".bookmarks .hit:has-text('Plans')");
  await page.keyboard.press("Escape");
  await page.goto(`${server.url}/#project=p&map=town&z=2&lat=0&lon=0`);
  await page.reload();
  await pictureComplete(page);
  await page.click("[aria-label=Bookmarks]");
  await page.click(".bookmarks .hit");
  await page.waitForURL(/z=4/);
  await soon(t).match(() => page.url(), new RegExp(`layers=${town.plans}`));
  await page.click("[aria-label=Bookmarks]");
  await page.click("[aria-label='Delete Plans']");
  await soon(t).equal(() => page.locator(".bookmarks li").count(), 0);
  await page.evaluate(
    `localStorage.setItem("mapwright.bookmarks", JSON.stringify(Array.from({ length: 60 }, (_, n) => ({ name: "n" + n, address: "#z=1" })).concat(5)))`,
  );
  await page.reload();
  await pictureComplete(page);
  await page.click("[aria-label=Bookmarks]");
  await page.waitForSelector("text=There are 50 bookmarks.");
  await soon(t).equal(() => page.locator(".bookmarks li").count(), 50);
  await soon(t).ok(() => page.isDisabled("dialog [type=submit]"));
  t.same(problems, []);
  await page.context().close();
});

t.test("a browser that keeps nothing is told of", async (t) => {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  await page.addInitScript(
    "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })",
  );
  await page.goto(home);
  await pictureComplete(page);
  await page.click("[aria-label=Bookmarks]");
  await page.waitForSelector("text=does not let pages keep anything");
  t.pass();
  await context.close();
});
