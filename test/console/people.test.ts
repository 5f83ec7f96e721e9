import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, areas, signIn } from "./support.js";

/** People and keys of a project in the console: who sees what, roles, rights, and keys, by pointers and by keys. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });
const home = `${server.url}/console/#project=p`;
for (const map of ["open", "closed"]) {
  await api("POST", "", {
    code: map,
    name: map === "open" ? "Parks" : "Plans",
    has_publication: map === "open",
  });
  for (const layer of ["trees", "paths"]) {
    await api("POST", `${map}/layers/`, { code: layer, name: layer === "trees" ? "Trees" : "Paths" });
    await api("POST", `${map}/layers/${layer}/import/`, JSON.parse(areas("A")));
  }
}

interface Shown {
  readonly id: number;
  readonly login: string;
  readonly role: string;
  readonly grants: readonly object[];
}
const member = async (login: string): Promise<Shown | undefined> =>
  (await api("GET", "members/")).json.find((one: Shown) => one.login === login);

async function opened(options: Parameters<typeof openPage>[2] = {}, login = "admin", address = home) {
  const { page, problems } = await openPage(browser, address, { waitForMap: false, ...options });
  await signIn(page, login);
  await page.waitForSelector(address === home ? ".home-card" : ".tree-choose");
  return { page, problems };
}
async function people(page: Page): Promise<void> {
  await page.click(".people-button");
  await page.waitForSelector(".people-table tbody tr");
}
const row = (page: Page, login: string) => page.locator(`tr[data-login='${login}']`);
const rights = (page: Page, login: string) => row(page, login).locator("td:nth-child(3) select");
const saved = (page: Page) => page.waitForSelector(".people-note:has-text('Saved.')");
const cells = (page: Page, login: string) =>
  row(page, login)
    .locator(".people-extent")
    .evaluateAll((found: { dataset: { extent: string } }[]) => found.map(({ dataset }) => dataset.extent));

t.test("Anna is added as a reader", async (t) => {
  const { page, problems } = await opened();
  await people(page);
  await accessible(t, page, "the people of a project");
  await page.click(".people-top .button");
  await page.fill("#person-login", "viewer");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".people-form .problem:has-text('already')");
  await page.fill("#person-login", "anna");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".people-content .copy-row");
  await page.click(".people-bar [aria-label='Back']");
  await row(page, "anna").waitFor();
  t.match(await member("anna"), { role: "viewer", grants: [] });
  t.same(problems, []);
  await page.context().close();
});

t.test(
  "who sees a map and a layer, and what Anna sees, is one table, in which rights are given",
  async (t) => {
    const { page, problems } = await opened();
    await page.click("[data-map='closed'] ~ .home-more");
    await page.click(".popup-menu button:has-text('Who sees this?')");
    await page.waitForSelector(".people-table tbody tr");
    t.equal(await page.inputValue("#people-map"), "closed");
    t.same(await cells(page, "public"), ["none", "none"]);
    t.same(await cells(page, "anna"), ["all", "none"]);
    t.same(await cells(page, "editor"), ["all", "all"]);
    await rights(page, "anna").selectOption({ label: "nothing" });
    await saved(page);
    t.same(await cells(page, "anna"), ["none", "none"]);
    t.match(await member("anna"), { grants: [{ map: "closed", layer: null, rights: 0 }] });

    const layer = page.locator(".people-place select").nth(1);
    await layer.selectOption({ label: "Trees" });
    t.match(await rights(page, "anna").locator("option").first().textContent(), /As usual: nothing/);
    await rights(page, "anna").selectOption({ label: "edit objects" });
    await saved(page);
    t.same(await cells(page, "anna"), ["all", "all"]);
    await layer.selectOption({ label: "All of the map" });
    t.same(await cells(page, "anna"), ["some", "some"]);
    await page.selectOption("#people-map", { label: "All maps" });
    t.same(await cells(page, "anna"), ["2 of 2", "1 of 2"]);

    await row(page, "anna").locator(".people-name").click();
    await page.waitForSelector(".people-bar h3:has-text('What does anna see?')");
    const place = (where: string) => page.locator(`tr[data-place='${where}']`);
    await place("closed/trees").waitFor();
    await soon(t).equal(() => place("closed/paths").count(), 1, "a map of which not all is seen is open");
    await accessible(t, page, "what somebody sees");
    await place("closed/trees").locator("select").selectOption({ label: "As usual: nothing" });
    await saved(page);
    t.equal(
      await place("closed/trees").locator(".people-extent").first().getAttribute("data-extent"),
      "none",
    );
    await place("closed/").locator("select").selectOption({ label: "As usual: see" });
    await saved(page);
    t.match(await member("anna"), { grants: [] });
    t.equal(await place("open/trees").count(), 0);
    await place("open/").locator(".expander").click();
    await place("open/trees").waitFor();
    t.same(problems, []);
    await page.context().close();
  },
);

t.test("roles are changed in place, and the last administrator stays one", async (t) => {
  const { page } = await opened();
  await people(page);
  const role = (login: string) => row(page, login).locator("td:nth-child(2) select");
  t.ok(await role("admin").isDisabled(), "the only one");
  t.equal(await row(page, "admin").locator(".people-remove button").count(), 0);
  await role("anna").selectOption({ label: "Administrator" });
  await saved(page);
  t.match(await member("anna"), { role: "admin" });
  t.ok(await rights(page, "anna").isDisabled(), "who may do everything");
  t.notOk(await role("admin").isDisabled());
  await role("admin").selectOption({ label: "Reader" });
  await page.click(".dialog-actions button:has-text('Cancel')");
  await soon(t).equal(() => role("admin").inputValue(), "admin", "who is asked may think again");
  await role("anna").selectOption({ label: "Reader" });
  await saved(page);

  await row(page, "anna").locator(".people-remove button").click();
  await page.waitForSelector("text=Remove anna from the project?");
  await accessible(t, page, "a question above the dialog");
  await page.keyboard.press("Enter");
  t.ok(await member("anna"), "who only presses Enter removes nobody");
  await row(page, "anna").locator(".people-remove button").click();
  await page.click(".button.danger");
  await soon(t).equal(() => row(page, "anna").count(), 0);
  t.equal(await member("anna"), undefined);
  await page.context().close();
});

t.test("what another administrator has changed meanwhile is told, and shown", async (t) => {
  const { id } = (await api("POST", "members/", { login: "ben", password: "correct-horse" })).json;
  const { page } = await opened();
  await people(page);
  const role = row(page, "ben").locator("td:nth-child(2) select");
  await api("PATCH", "members/0/", { grants: [{ map: "open", layer: "paths", rights: 0 }] });
  await role.selectOption({ label: "Editor" });
  await saved(page);
  t.match(await member("ben"), { role: "editor" }, "what is about somebody else is in nobody's way");
  await api("PATCH", `members/${id}/`, { role: "admin" });
  await role.selectOption({ label: "Reader" });
  await page.waitForSelector(".people-dialog > .problem:has-text('ben')");
  await soon(t).equal(() => role.inputValue(), "admin");
  t.match(await member("ben"), { role: "admin" });
  await role.selectOption({ label: "Reader" });
  await saved(page);

  await api("PATCH", `members/${id}/`, { role: "admin" });
  await page.click(".people-dialog .dialog-header [aria-label='Close']");
  await people(page);
  const own = row(page, "admin").locator("td:nth-child(2) select");
  await own.selectOption({ label: "Editor" });
  await page.click(".button.danger");
  await soon(t).equal(() => page.locator(".people-dialog").count(), 0);
  await soon(t).notOk(
    () => page.locator(".people-button").isVisible(),
    "who has given up the role sees it no more",
  );
  await server.sql.query("update membership set role = 'admin' where login = 'admin'");
  await server.nodes[0]!.services.changes.propagate();
  await api("DELETE", `members/${id}/`);
  await api("PATCH", "members/0/", { grants: [{ map: "open", layer: "paths", rights: null }] });
  await page.context().close();
});

t.test("a key is made, shown once, used, and revoked", async (t) => {
  const { page, problems } = await opened();
  await people(page);
  await page.click("#people-tab-keys");
  await page.waitForSelector("text=There are no keys yet.");
  await page.click(".people-top .button");
  await accessible(t, page, "the form for a key");
  await page.fill("#key-name", "QGIS of the office");
  await page.selectOption("#key-map", "closed");
  await page.locator(".people-form .people-place select").nth(1).selectOption({ label: "Trees" });
  await page.fill("#key-ends", "2099-12-31");
  await page.click(".people-form .main");
  await page.waitForSelector("text=This key is shown once only.");
  await accessible(t, page, "a key that was made");
  const [key = "", qgis = "", ogr = ""] = await page
    .locator(".people-content textarea")
    .evaluateAll((fields: { value: string }[]) => fields.map(({ value }) => value));
  t.match(key, /^mwk_[\w-]{43}$/);
  const read = (headers: Record<string, string> = {}) =>
    fetch(`${server.url}/api/2.8/p/closed/layers/trees/objects/`, { headers });
  t.equal((await read({ "x-token": key })).status, 200);
  t.equal((await fetch(qgis.replace(/\{[zxy]\}/g, "0"))).status, 200);
  const [, exported = ""] = /"(http[^"]*)"/.exec(ogr) ?? [];
  t.equal((await fetch(exported, { headers: { "x-token": key } })).status, 200);
  t.match((await api("GET", "keys/")).json, [
    {
      name: "QGIS of the office",
      rights: "read",
      map: "closed",
      layer: "trees",
      expires: /^(2099-12-31|2100-01-01)T/,
    },
  ]);

  await page.click(".people-bar [aria-label='Back']");
  const made = page.locator("tr[data-key-name='QGIS of the office']");
  await made.waitFor();
  t.match(await made.textContent(), "Plans, trees");
  t.notMatch(await page.content(), key);
  await accessible(t, page, "the keys");
  await made.locator("button").click();
  await page.waitForSelector("text=Revoke the key QGIS of the office?");
  await page.keyboard.press("Escape");
  t.equal((await read({ "x-token": key })).status, 200);
  await made.locator("button").click();
  await page.click(".button.danger");
  await page.waitForSelector("text=There are no keys yet.");
  t.equal((await read({ "x-token": key })).status, 401);
  t.same(problems, []);
  await page.context().close();
});

t.test("with keys only, on a dark phone too, somebody is added and gets a right", async (t) => {
  for (const options of [{}, { colorScheme: "dark", viewport: { width: 390, height: 844 } } as const]) {
    const { page, problems } = await opened(options);
    const { keyboard } = page;
    const isPhone = "viewport" in options;
    const login = isPhone ? "dora" : "carl";
    const focused = () =>
      page.evaluate<string>(
        "document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent || ''",
      );
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 60 && (await focused()).trim() !== text; presses++)
        await keyboard.press("Tab");
      t.equal((await focused()).trim(), text);
    };
    const enter = async (text: string) => {
      await tabTo(text);
      await keyboard.press("Enter");
    };
    if (isPhone) await enter("Aadmin");
    await enter("People & keys");
    await page.waitForSelector(".people-table tbody tr");
    await soon(t).equal(focused, "People", "the dialog has the focus");
    await keyboard.press("ArrowRight");
    await page.waitForSelector("text=There are no keys yet.");
    await soon(t).equal(focused, "Keys");
    await keyboard.press("ArrowLeft");
    await page.waitForSelector(".people-table tbody tr");
    await enter("Add a person");
    await keyboard.press("Tab");
    await keyboard.type(login);
    await keyboard.press("Enter");
    await page.waitForSelector(".people-content textarea");
    await keyboard.press("Shift+Tab");
    t.equal(await focused(), "Back");
    await keyboard.press("Enter");
    await row(page, login).waitFor();
    await tabTo(`Rights of ${login}: All maps`);
    await keyboard.press("ArrowDown");
    await saved(page);
    await soon(t).equal(focused, `Rights of ${login}: All maps`, "what was changed keeps the focus");
    t.match(await member(login), { role: "viewer", grants: [{ map: null, layer: null, rights: 0 }] });
    await accessible(t, page, "the people");
    const isWide =
      "document.querySelector('.people-dialog').scrollWidth > document.querySelector('.people-dialog').clientWidth";
    t.notOk(await page.evaluate(isWide), "nothing is cut off");
    await keyboard.press("Escape");
    await soon(t).equal(() => page.locator(".people-dialog").count(), 0);
    t.not(await focused(), "", "something has the focus");
    t.same(problems, []);
    await page.context().close();
  }
});

t.test("it speaks the language of the page, and fits", async (t) => {
  for (const [locale, title] of [
    ["de-DE", "Personen & Schlüssel"],
    ["fr-FR", "Personnes et clés"],
    ["es-ES", "Personas y claves"],
    ["ru-RU", "Люди и ключи"],
  ] as const) {
    const { page } = await opened({ locale, viewport: { width: 720, height: 700 } });
    await people(page);
    t.equal(await page.locator(".people-dialog h2").textContent(), title);
    const wide = await page.evaluate<boolean>(
      "[...document.querySelectorAll('.people-dialog, .people-content')].some((one) => one.scrollWidth > one.clientWidth + 1)",
    );
    t.notOk(wide, `${locale}: nothing is cut off`);
    await page.context().close();
  }
});

t.test(
  "who does not administer the project has no way to it, and nothing of it is loaded at first",
  async (t) => {
    const { page, requests } = await openPage(browser, home, { waitForMap: false });
    await signIn(page, "editor");
    await page.waitForSelector(".home-card");
    t.notOk(await page.locator(".people-button").isVisible());
    await page.click(".user-button");
    t.notMatch(await page.locator(".account .menu").textContent(), "People");
    t.notOk(requests.some((address) => address.includes("/people")));
    await page.context().close();
  },
);
