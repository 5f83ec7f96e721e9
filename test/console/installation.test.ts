import type { Page } from "playwright-core";
import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { setOperator } from "../../src/access/operators.js";
import { measureProjects } from "../../src/catalog/disk-use.js";
import { startServer } from "../support/server.js";
import { openPage, startBrowser } from "../viewer/support.js";
import { accessible, areas, signIn } from "./support.js";

/** What operators see and do of the installation in the console, by pointers and by keys. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const { db, catalog, changes } = server.nodes[0]!.services;
const token = await server.token("admin");
await server.api("POST", "", { token, body: { code: "parks", name: "Parks" } });
await server.api("POST", "parks/layers/", { token, body: { code: "trees" } });
await server.api("POST", "parks/layers/trees/import/", { token, body: JSON.parse(areas("A")) });
const { id: projectId } = await catalog.project("p");
// As passwords of the others are: the login twice.
const boss = await addMember(db, { login: "boss", password: "bossboss", projectId, role: "admin" });
await setOperator(db, boss.id, true);
await measureProjects(db);
await changes.propagate();

async function opened(login: string, options: Parameters<typeof openPage>[2] = {}) {
  const { page, problems } = await openPage(browser, `${server.url}/console/#project=p`, {
    waitForMap: false,
    ...options,
  });
  await signIn(page, login);
  await page.waitForSelector(".home-card");
  return { page, problems };
}
const entry = (page: Page) => page.locator(".menu-entry", { hasText: "Installation" });
async function installation(page: Page): Promise<void> {
  await entry(page).waitFor({ state: "attached" });
  await page.locator(".toolbar .account > button, .account > button").first().click();
  await entry(page).click();
  await page.waitForSelector(".projects-table tbody tr");
}

t.test("an operator makes a project, and its administrator gets in by the link", async (t) => {
  const { page, problems } = await opened("boss");
  await page.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }");
  await installation(page);
  await accessible(t, page, "the projects");
  t.match(await page.innerText("tr[data-project='p']"), /1 layer[\s\S]*4[\s\S]*kB/);
  await page.click(".people-top .button");
  await accessible(t, page, "the form for a project");
  await page.keyboard.press("Tab");
  await page.fill("#new-project-name", "Harbour");
  await page.fill("#new-project-code", "old harbour");
  await page.fill("#new-project-login", "olga");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".people-form .problem:has-text('Latin letters')");
  await page.fill("#new-project-code", "p");
  await page.fill("#new-project-languages", "en; deutsch");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".people-form .problem:has-text('Their codes')");
  await page.fill("#new-project-languages", "EN, de");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".people-dialog > .problem:not(:empty)");
  t.equal(await page.evaluate("document.activeElement.id"), "new-project-languages", "where it was");
  await page.click(".people-form .main");
  await page.waitForSelector(".people-form .main:not([disabled]):focus");
  // What was refused is told by the browser, too.
  problems.length = 0;
  await page.fill("#new-project-code", "harbour");
  await page.fill("#most-disk", "0.5");
  await page.keyboard.press("Enter");
  await page.click(".copy-row button");
  await accessible(t, page, "the link");
  const link = new URL(await page.evaluate<string>("globalThis.copied"));
  const values = new URLSearchParams(link.hash.slice(1));
  t.equal(values.get("project"), "harbour");
  const answer = await fetch(`${server.url}/api/2.8/harbour/invitation/`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ invitation: values.get("invitation"), password: "of-the-harbour" }),
  });
  t.same(await answer.json(), { login: "olga" });
  await page.click(".people-bar [aria-label='Back']");
  await page.waitForSelector("tr[data-project='harbour']:has-text('not measured yet')");
  await measureProjects(db);
  await page.click("#people-tab-projects");
  await page.waitForSelector("tr[data-project='harbour']:has-text('of 500 MB')");
  t.same(problems, []);
});

t.test("a limit is set, and a full project says so where somebody adds to it", async (t) => {
  const { page } = await opened("boss");
  await installation(page);
  await page.click("tr[data-project='p'] .people-name");
  await accessible(t, page, "a project");
  await page.fill("#most-disk", "-1");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".people-form .problem:has-text('above 0')");
  await page.fill("#most-disk", "0.000001");
  await page.fill("#project-name", "Town");
  await page.keyboard.press("Enter");
  await page.waitForSelector("tr[data-project='p'] .problem-text");
  await accessible(t, page, "a project that is full");
  t.equal((await catalog.project("p")).name, "Town");
  await page.keyboard.press("Escape");
  await page.setInputFiles("input[type=file]", {
    name: "more.geojson",
    mimeType: "application/geo+json",
    buffer: Buffer.from(areas("B")),
  });
  await page.waitForSelector("text=has used up its room");
  await server.sql.query("update project_disk_use set most_bytes = null");
  await server.nodes[0]!.services.fullProjects.read();
});

t.test("an administrator who has lost the link gets another one", async (t) => {
  const { page, problems } = await opened("boss", { viewport: { width: 360, height: 740 } });
  await page.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }");
  await installation(page);
  await page.click("tr[data-project='harbour'] .people-name");
  await accessible(t, page, "a project with its administrators");
  await page.locator(".administrators button").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .button.danger");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.click(".copy-row button");
  const link = new URL(await page.evaluate<string>("globalThis.copied"));
  t.match(Object.fromEntries(new URLSearchParams(link.hash.slice(1))), {
    project: "harbour",
    invitation: /^mwi_/,
  });
  await page.click(".people-bar [aria-label='Back']");
  await page.waitForSelector(".administrators");
  t.same(problems, []);
});

t.test("the state is that of doctor, on a phone as well", async (t) => {
  const { page, problems } = await opened("boss", { viewport: { width: 360, height: 740 } });
  await installation(page);
  await page.locator("#people-tab-projects").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector(".checks .check-good:has-text('PostgreSQL')");
  await accessible(t, page, "the state");
  const [inner, outer] = await page.evaluate<[number, number]>(
    "[document.documentElement.scrollWidth, innerWidth]",
  );
  t.equal(inner, outer, "nothing is wider than the phone");
  t.same(problems, []);
});

t.test("who is none is not offered it, and one who is no longer is told", async (t) => {
  const { page, problems } = await opened("admin");
  await page.waitForTimeout(500);
  t.equal(await entry(page).count(), 0);
  t.same(problems, [], "nothing was refused");
  const other = await opened("boss");
  await installation(other.page);
  await setOperator(db, boss.id, false);
  await other.page.click("tr[data-project='p'] .people-name");
  await other.page.fill("#project-name", "Mine");
  await other.page.keyboard.press("Enter");
  await other.page.waitForSelector(".people-dialog > .problem:not(:empty)");
  t.not((await catalog.project("p")).name, "Mine");
});
