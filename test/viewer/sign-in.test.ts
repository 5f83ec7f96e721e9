import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { secretHash } from "../../src/access/sessions.js";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { makeMap } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import {
  hold,
  makeTown,
  type OpenPage,
  openPage,
  pictureComplete,
  soon,
  startBrowser,
  until,
} from "./support.js";

/** Signing in to see private maps. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const secret = `${server.url}/#project=p&map=secret&z=4&lat=10&lon=10`;

async function signIn(page: OpenPage["page"], login: string, password: string): Promise<void> {
  await page.click(".sign-in-button");
  await page.fill("#sign-in-login", login);
  await page.fill("#sign-in-password", password);
  await page.keyboard.press("Enter");
}

const tokenOf = (page: OpenPage["page"]) =>
  page.evaluate<string>("JSON.parse(sessionStorage.getItem('mapwright.sessions'))[0][1].token");

t.test("a private map asks for signing in, and opens after it", async (t) => {
  const { page, requests } = await openPage(browser, secret, { waitForMap: false });
  await page.waitForSelector("text=This map is private");
  await soon(t).notOk(() => requests.some((address) => address.includes("/?x=")));
  await signIn(page, "viewer", "viewerviewer");
  await pictureComplete(page);
  await soon(t).equal(() => page.textContent(".chooser-title"), "Secret");
  await soon(t).ok(() => page.isVisible(".user-button:has-text('viewer')"));
  const tiles = requests.filter((address) => address.includes("/tms/p/secret/?"));
  t.ok(tiles.length > 0 && tiles.every((address) => address.includes("&token=")));
  await soon(t).match(() => page.url(), /map=secret&z=4&lat=10/, "the view of the link");
  await soon(t).notMatch(() => page.url(), /token/);
  await page.reload();
  await pictureComplete(page);
  await soon(t).ok(() => page.isVisible(".user-button"), "the session outlives a reload");
  await page.context().close();
});

t.test("a wrong password is said to be wrong, and nothing is kept", async (t) => {
  const { page } = await openPage(browser, `${server.url}/`);
  await signIn(page, "viewer", "wrong");
  await page.waitForSelector(".problem:has-text('The project, the login or the password is wrong.')");
  await page.keyboard.press("Escape");
  await soon(t).notOk(() => page.isVisible("dialog"));
  await soon(t).ok(() => page.isVisible(".sign-in-button"));
  await soon(t).notMatch(() => page.evaluate<string>("JSON.stringify(sessionStorage)"), /wrong|viewer/);
  await page.context().close();
});

t.test("private maps are listed after signing in, and gone after signing out", async (t) => {
  const { page } = await openPage(browser, `${server.url}/`);
  await page.click(".chooser-button");
  await soon(t).same(() => page.locator(".chooser-entry").allTextContents(), ["Town"]);
  await page.keyboard.press("Escape");
  await signIn(page, "admin", "adminadmin");
  await page.waitForSelector(".user-button");
  await page.click(".chooser-button");
  await soon(t).same(() => page.locator(".chooser-entry").allTextContents(), ["Town", "SecretPrivate"]);
  await page.click(".chooser-entry:has-text('Secret')");
  await until(page, "document.title.startsWith('Secret')");
  await pictureComplete(page);
  const token = await tokenOf(page);
  await page.click(".user-button");
  await page.click("text=Sign out");
  await page.waitForSelector("text=This map is private");
  t.equal((await server.api("GET", "authorized/", { token })).json, false, "the session has ended");
  await page.click(".chooser-button");
  await soon(t).same(() => page.locator(".chooser-entry").allTextContents(), ["Town"]);
  await page.context().close();
});

t.test("who is signed in is told at once that the open map is deleted", async (t) => {
  await makeMap(server, "brief");
  const { page, requests } = await openPage(browser, `${server.url}/#project=p&map=brief`, {
    waitForMap: false,
  });
  await signIn(page, "admin", "adminadmin");
  await waitFor(() => requests.some((address) => /brief\/changes\/\?token=/.test(address)));
  await server.api("DELETE", "brief/", { token: await tokenOf(page) });
  await page.waitForSelector("text=There is no such map", { timeout: 20_000 });
  t.pass();
  await page.context().close();
});

t.test("a page that is left alone uses no session, and says that it has ended", async (t) => {
  const { page, requests } = await openPage(browser, secret, { waitForMap: false });
  await signIn(page, "viewer", "viewerviewer");
  await pictureComplete(page);
  await waitFor(() => server.nodes[0]!.services.mapEvents.listeners === 1);
  const { redis, config } = server.nodes[0]!.services;
  const session = `${config.redisPrefix}s:${secretHash(await tokenOf(page))}`;
  await page.evaluate("performance.now = () => 3_600_000");
  await redis.pexpire(session, 300_000);
  const before = requests.length;
  const editor = await server.token("editor");
  const made = await server.api("POST", "secret/layers/", { token: editor, body: { code: "later" } });
  t.equal(made.status, 200, made.text);
  const hasLoaded = (part: string) => () => requests.slice(before).some((address) => address.includes(part));
  await waitFor(hasLoaded("/secret/layers/"));
  await waitFor(hasLoaded("/tms/p/secret/?x="));
  await pictureComplete(page);
  t.ok((await redis.pttl(session)) <= 300_000, "what it loaded again was no use");
  await page.evaluate("delete performance.now");
  await page.mouse.move(400, 300);
  await page.mouse.wheel(0, -400);
  await waitFor(async () => (await redis.pttl(session)) > 300_000);
  await redis.del(session);
  await server.api("DELETE", "secret/layers/later/", { token: editor });
  await page.waitForSelector("text=This map is private");
  await page.context().close();
});

t.test("a project without public maps is on no list, and opens to those who sign in to it", async (t) => {
  const { db } = server.nodes[0]!.services;
  const projectId = await createProject(db, { code: "closed", name: "Closed" });
  await addMember(db, { login: "clara", password: "clara of closed", projectId, role: "viewer" });
  await createMap(db, projectId, { code: "plan", published: false });
  const { page } = await openPage(browser, `${server.url}/`);
  await soon(t).notMatch(() => page.innerHTML("body"), /closed/i);
  await page.click(".sign-in-button");
  await soon(t).equal(() => page.inputValue("#sign-in-project"), "p");
  await page.fill("#sign-in-project", "none");
  await page.fill("#sign-in-login", "clara");
  await page.fill("#sign-in-password", "clara of closed");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".problem:has-text('The project, the login or the password is wrong.')");
  await page.fill("#sign-in-project", "closed");
  await page.keyboard.press("Enter");
  await until(page, "document.title.startsWith('plan')");
  await pictureComplete(page);
  await page.click(".chooser-button");
  await soon(t).same(() => page.locator(".chooser-entry").allTextContents(), ["planPrivate"]);
  await page.context().close();

  const linked = await openPage(browser, `${server.url}/#project=closed&map=plan`, { waitForMap: false });
  await linked.page.waitForSelector("text=This map is private");
  await linked.page.click(".sign-in-button");
  await soon(t).equal(() => linked.page.inputValue("#sign-in-project"), "closed");
  await linked.page.context().close();
  const nowhere = await openPage(browser, `${server.url}/#project=none&map=plan`, { waitForMap: false });
  await nowhere.page.waitForSelector("text=There is no such project");
  await nowhere.page.click(".stage button");
  await soon(t).notMatch(() => nowhere.page.url(), /project=none/, "and the way leads to what there is");
  await nowhere.page.context().close();
});

t.test("when the session ends elsewhere the page says so", async (t) => {
  const { page } = await openPage(browser, secret, { waitForMap: false });
  await page.waitForSelector("text=This map is private");
  await signIn(page, "viewer", "viewerviewer");
  await pictureComplete(page);
  const token = await tokenOf(page);
  await server.api("POST", "logout/", { token, body: {} });
  await page.click("[aria-label='Zoom in']");
  await page.waitForSelector("text=Your session has ended");
  await page.waitForSelector("text=This map is private");
  await soon(t).ok(() => page.isVisible(".sign-in-button"));
  await page.context().close();
});

t.test("a page shows maps of its project, and nothing of others, wherever it is opened", async (t) => {
  const { db } = server.nodes[0]!.services;
  const projectId = await createProject(db, { code: "neighbour", name: "Neighbour" });
  await createMap(db, projectId, { code: "garden", name: { name: "Garden", localized: false, names: {} } });
  await createMap(db, projectId, { code: "cellar", published: false });
  const heard = () =>
    fetch(`${server.url}/viewer/maps.json?project=neighbour`).then((answer) => answer.text());
  await waitFor(async () => (await heard()).includes("Garden"));
  const entries = async (page: OpenPage["page"]) => {
    await page.click(".chooser-button");
    return page.locator(".chooser-entry").allTextContents();
  };
  const first = await openPage(browser, `${server.url}/`);
  t.same(await entries(first.page), ["Town"]);
  t.notMatch(await first.page.innerHTML("body"), /neighbour|Garden/i);
  await first.page.context().close();
  const { page, problems } = await openPage(browser, `${server.url}/#project=neighbour`);
  t.same(await entries(page), ["Garden"]);
  t.notMatch(await page.innerHTML("body"), /Town/);
  await page.evaluate("location.hash = '#project=p&map=town'");
  await page.waitForSelector(".chooser-title:has-text('Town')");
  await soon(t).same(() => page.locator(".chooser-entry").allTextContents(), ["Town"]);
  t.same(problems, []);

  // A list that comes late is not shown to who has gone back.
  const list = "**/maps.json?*project=neighbour*";
  const release = await hold(page, list);
  const late = page.waitForResponse(/maps\.json.*neighbour/);
  const asked = page.waitForRequest(/maps\.json.*neighbour/);
  await page.evaluate("location.hash = '#project=neighbour'");
  await asked;
  await page.goBack();
  await soon(t).match(() => page.url(), /map=town/);
  release();
  await (await late).finished();
  await page.waitForTimeout(200);
  t.equal(await page.textContent(".chooser-title"), "Town");
  t.same(await page.locator(".chooser-entry").allTextContents(), ["Town"]);
  await page.unroute(list);
  await page.route(list, (route) => route.abort());
  await page.evaluate("location.hash = '#project=neighbour'");
  await page.waitForSelector("text=The server cannot be reached");
  await page.unroute(list);
  await page.click(".stage button:has-text('Try again')");
  await page.waitForSelector(".chooser-title:has-text('Garden')");
  await page.context().close();
});

t.test("an open map that is made private says so, and opens again to those who sign in", async (t) => {
  const token = await server.token("admin");
  const open = (isOpen: boolean) =>
    server.api("PATCH", "town/", { token, body: { has_publication: isOpen } });
  const { page } = await openPage(browser, `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`);
  await open(false);
  await page.waitForSelector("text=This map is private");
  t.equal(await page.locator(".layers").isVisible(), false, "nothing of it is shown any more");
  await signIn(page, "viewer", "viewerviewer");
  await pictureComplete(page);
  await soon(t).match(() => page.url(), /map=town&z=4&lat=10/);
  await page.context().close();
  await open(true);
});
