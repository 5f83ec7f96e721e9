import type { Page, Request } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { onRequests, openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible, areas, signIn } from "./support.js";

/** People who are invited by a link: from who adds them to where they work, in two browsers. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) =>
  server.api(method, path, { token, ...(body !== undefined && { body }) });
for (const map of ["open", "closed"]) {
  await api("POST", "", {
    code: map,
    name: map === "open" ? "Parks" : "Plans",
    has_publication: map === "open",
  });
  await api("POST", `${map}/layers/`, { code: "trees", name: "Trees" });
  await api("POST", `${map}/layers/trees/import/`, JSON.parse(areas("A")));
}

async function people(options: Parameters<typeof openPage>[2] = {}) {
  const opened = await openPage(browser, `${server.url}/console/#project=p`, {
    waitForMap: false,
    ...options,
  });
  const { page } = opened;
  await signIn(page, "admin");
  await page.waitForSelector(".home-card");
  await page.evaluate(`navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }`);
  // On a phone it is in the menu of the user.
  if (await page.locator(".people-button").isVisible()) await page.click(".people-button");
  else {
    await page.click(".user-button");
    await page.click(".account .menu button:has-text('&')");
  }
  await page.waitForSelector(".people-table tbody tr");
  return opened;
}
const row = (page: Page, login: string) => page.locator(`tr[data-login='${login}']`);
const back = (page: Page) => page.click(".people-bar .icon-button");

/** Of a user who is there already. */
async function linkFor(
  login: string,
  role = "viewer",
): Promise<{ readonly id: number; readonly link: string }> {
  const known = (await api("GET", "members/")).json.find((one: { login: string }) => one.login === login);
  const { id } = known ?? (await api("POST", "members/", { login, role })).json;
  const { invitation } = (await api("POST", `members/${id}/invitation/`)).json;
  return { id, link: `${server.url}/#project=p&invitation=${invitation}` };
}
const secretOf = (link: string) => new URLSearchParams(new URL(link).hash.slice(1)).get("invitation")!;

/** Opens a link, and notes what is sent anywhere, and where it stands. */
async function invited(link: string, options: Parameters<typeof openPage>[2] = {}) {
  const opened = await openPage(browser, link, { waitForMap: false, ...options });
  const sent: Request[] = [];
  opened.page.on("request", (request) => sent.push(request));
  return { ...opened, sent };
}
const choose = async (page: Page, password: string) => {
  await page.fill("#new-password", password);
  await page.keyboard.press("Enter");
};
const sessionOf = (page: Page) =>
  page.evaluate<string>("JSON.parse(sessionStorage.getItem('mapwright.sessions') ?? '[]')[0]?.[1].login");

t.test("Anna is added, opens her link, chooses a password and sees the private map", async (t) => {
  const { page, problems } = await people();
  await page.click(".people-top .button");
  await accessible(t, page, "the form for somebody new");
  t.equal(await page.locator(".people-form input").count(), 1, "nobody makes up a password");
  await page.fill("#person-login", "anna");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".people-bar h3:has-text('Link for anna')");
  await accessible(t, page, "a link that was made");
  await page.click(".copy-row button");
  const link = await page.evaluate<string>("globalThis.copied");
  t.match(link, new RegExp(`^${server.url}/#project=p&invitation=mwi_[\\w-]{43}$`));
  t.match(await page.locator(".people-content").textContent(), /once, until \w+ \d+, \d{4}/);
  await back(page);
  await row(page, "anna").locator(".people-invited:has-text('has a link until')").waitFor();
  await accessible(t, page, "the people, of whom one has a link");
  t.notMatch(await page.content(), secretOf(link), "it is shown once");

  const reader = await invited(link);
  await reader.page.waitForSelector("#new-password");
  const secret = secretOf(link);
  t.equal(reader.page.url(), `${server.url}/#project=p`);
  t.equal(await reader.page.inputValue("#invited-login"), "anna");
  t.equal(await reader.page.getAttribute("#new-password", "autocomplete"), "new-password");
  await accessible(t, reader.page, "the dialog for a password");
  for (const [password, what] of [
    ["short", "too short"],
    ["", "none"],
    ["Anna", "the login"],
  ] as const) {
    await choose(reader.page, password);
    await reader.page.waitForSelector(".problem:has-text('At least 8 characters')", { timeout: 60_000 });
    t.equal(await reader.page.locator("#new-password").count(), 1, what);
  }
  await reader.page.click(".reveal");
  t.equal(await reader.page.getAttribute("#new-password", "type"), "text");
  await choose(reader.page, "chosen-by-anna");
  await reader.page.waitForSelector(".user-button:has-text('anna')");
  await soon(t).notOk(() => reader.page.isVisible("dialog"));
  await soon(t).match(() => reader.page.locator(".chooser").textContent(), "Parks");
  await reader.page.goto(`${server.url}/#project=p&map=closed`);
  await soon(t).same(() => reader.page.locator(".tree .tree-name").allTextContents(), ["Trees"]);
  t.notOk(
    [...reader.requests, ...reader.sent.map((request) => request.url())].some((address) =>
      address.includes(secret),
    ),
    "no address has the secret",
  );
  for (const request of reader.sent)
    t.notMatch(JSON.stringify(await request.allHeaders()), secret, request.url());
  await reader.page.goBack();
  t.notMatch(reader.page.url(), secret, "the history has it no more");
  t.same([...problems, ...reader.problems], []);
  await reader.page.context().close();

  await page.context().close();
});

t.test("an editor goes on in the console, and who edits one map there", async (t) => {
  const { link } = await linkFor("erik", "editor");
  const { page, problems } = await invited(link);
  await page.waitForSelector("#new-password");
  await choose(page, "chosen-by-erik");
  await page.waitForSelector(".home-card");
  t.equal(page.url(), `${server.url}/console/#project=p`);
  t.equal(await sessionOf(page), "erik");
  t.same(problems, []);
  await page.context().close();

  const { id, link: other } = await linkFor("mona");
  await api("PATCH", `members/${id}/`, { grants: [{ map: "closed", rights: 7 }] });
  const mapper = await invited(other);
  await mapper.page.waitForSelector("#new-password");
  await choose(mapper.page, "chosen-by-mona");
  await mapper.page.waitForSelector(".tree-choose");
  t.match(mapper.page.url(), "/console/#project=p&map=closed");
  await mapper.page.context().close();
});

t.test("who has forgotten the password gets a new link, and other sessions end", async (t) => {
  const { page } = await people();
  const { json } = await server.api("POST", "login/", { body: { user: "erik", pass: "chosen-by-erik" } });
  await row(page, "erik").locator(".people-name").click();
  await page.waitForSelector(".people-bar h3:has-text('What does erik see?')");
  await page.click("[data-key='new-link']");
  await page.waitForSelector("text=Make a new link for erik?");
  await accessible(t, page, "the question before a new link");
  t.match(await page.locator("dialog").last().textContent(), "all sessions of erik end");
  await page.keyboard.press("Enter");
  await soon(t).equal(() => page.locator("dialog[open]").count(), 1);
  t.equal(
    (await server.sql.query("select from invitation")).rowCount,
    0,
    "who only presses Enter makes none",
  );
  await page.click("[data-key='new-link']");
  await page.click(".button.danger");
  await page.waitForSelector(".people-bar h3:has-text('Link for erik')");
  const link = await page.inputValue(".copy-row textarea");
  await back(page);
  await page.waitForSelector(".people-content .hint:has-text('has a link until')");
  t.equal((await server.api("GET", "authorized/", { token: json.token })).json, true);

  const erik = await invited(link);
  await erik.page.waitForSelector("#new-password");
  await choose(erik.page, "other-horse-of-erik");
  await erik.page.waitForSelector(".home-card");
  t.equal((await server.api("GET", "authorized/", { token: json.token })).json, false);
  await erik.page.context().close();

  await server.sql.query(`
    with other as (insert into project (code) values ('q') returning id)
    insert into membership (project_id, account_id, role)
      select other.id, account_id, 'viewer' from other, membership where login = 'erik'`);
  await page.click("[data-key='new-link']");
  await page.click(".button.danger");
  await page.waitForSelector(".people-dialog > .problem:has-text('only the operator of the server')");
  await accessible(t, page, "who has no link");
  await page.context().close();
});

t.test("a link that was used or is over says whom to ask, and leads to signing in", async (t) => {
  const { id, link } = await linkFor("ida");
  await server.sql.query("update invitation set ends_at = now() where account_id = $1", [id]);
  const { page } = await invited(link);
  await page.waitForSelector("h2:has-text('This link no longer works')");
  t.match(await page.locator("dialog").textContent(), "ask an administrator of the project p");
  await accessible(t, page, "a link that is over");
  t.notMatch(page.url(), "invitation");
  await page.keyboard.press("Escape");
  await soon(t).match(() => page.locator(".chooser").textContent(), "Parks", "the map is there");
  await page.context().close();

  const { link: next } = await linkFor("ida");
  const [one, other] = [await invited(next), await invited(next)];
  for (const { page } of [one, other]) await page.waitForSelector("#new-password");
  await choose(one.page, "chosen-by-ida");
  await one.page.waitForSelector(".user-button:has-text('ida')");
  await choose(other.page, "other-horse");
  await other.page.waitForSelector("h2:has-text('This link no longer works')");
  await other.page.click("dialog .main");
  await other.page.waitForSelector("#sign-in-password");
  t.equal(await other.page.inputValue("#sign-in-project"), "p");
  await other.page.fill("#sign-in-login", "ida");
  await other.page.fill("#sign-in-password", "chosen-by-ida");
  await other.page.keyboard.press("Enter");
  await other.page.waitForSelector(".user-button:has-text('ida')");
  for (const { page } of [one, other]) await page.context().close();

  const nowhere = await invited(next.replace("project=p", "project=none"));
  await nowhere.page.waitForSelector("h2:has-text('This link no longer works')");
  await nowhere.page.context().close();
});

t.test("a link is opened in a page that is there already, and one that is closed counts still", async (t) => {
  const { link } = await linkFor("jan");
  const { page } = await openPage(browser, `${server.url}/#project=p&map=open`);
  await page.evaluate(`location.href = ${JSON.stringify(link)}`);
  await page.waitForSelector("#new-password");
  t.notMatch(page.url(), "invitation");
  await page.keyboard.press("Escape");
  await soon(t).match(() => page.locator(".chooser").textContent(), "Parks");
  t.equal(await sessionOf(page), undefined);
  await page.evaluate(`location.href = ${JSON.stringify(link)}`);
  await page.waitForSelector("#new-password");
  await page.context().close();

  const embedded = await openPage(browser, link.replace("/#", "/embed#"), { waitForMap: false });
  await soon(t).notMatch(() => embedded.page.url(), "invitation");
  await soon(t).ok(() => embedded.page.isVisible(".whole"));
  t.equal(await embedded.page.locator("dialog").count(), 0, "in a page of others nobody types a password");
  await embedded.page.context().close();
});

t.test("a bad line loses no password, and a good one after it goes on", async (t) => {
  const { link } = await linkFor("kai");
  const { page } = await openPage(browser, `${server.url}/#project=p&map=open`);
  let isDown = true;
  await onRequests(page, /\/api\/2\.8\/p\/invitation\/?$/, async (route) => {
    if (isDown) await route.abort();
    else await route.continue();
  });
  await page.evaluate(`location.href = ${JSON.stringify(link)}`);
  await page.waitForSelector("dialog p:has-text('The server cannot be reached.')");
  // The page is made anew, for another map.
  await until(page, "document.querySelectorAll('header.toolbar').length === 1");
  await accessible(t, page, "a bad line");
  isDown = false;
  await page.click("dialog .main");
  await page.waitForSelector("#new-password");
  await page.unroute(/\/api\/2\.8\/p\/invitation\/?$/);
  let isLost = true;
  await onRequests(page, /\/api\/2\.8\/p\/invitation\/?$/, async (route) => {
    if (!isLost) return route.continue();
    isLost = false;
    await route.fetch();
    await route.abort();
  });
  await choose(page, "chosen-by-kai");
  await page.waitForSelector(".problem:has-text('The server cannot be reached.')");
  t.equal(await page.inputValue("#new-password"), "chosen-by-kai");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".user-button:has-text('kai')");
  await page.context().close();

  const { link: late } = await linkFor("lea");
  const slow = await openPage(browser, `${server.url}/`, { waitForMap: false });
  await onRequests(slow.page, /choose-password\.js$/, (route) => route.abort());
  await slow.page.evaluate(`location.href = ${JSON.stringify(late)}`);
  await slow.page.waitForSelector(".stage-card");
  t.notMatch(slow.page.url(), "invitation");
  await slow.page.unroute(/choose-password\.js$/);
  await slow.page.click(".stage-card .main");
  await slow.page.waitForSelector("#new-password");
  await slow.page.context().close();
});

t.test("with keys only, on a dark phone and with forced colours, it is all there", async (t) => {
  for (const [login, options] of [
    ["nils", {}],
    ["olga", { colorScheme: "dark", viewport: { width: 360, height: 740 } }],
    ["paul", { forcedColors: "active" }],
  ] as const) {
    const { page, problems } = await people(options);
    const { keyboard } = page;
    const focused = (of: Page) =>
      of.evaluate<string>(
        "document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent || document.activeElement?.id || ''",
      );
    const enter = async (text: string) => {
      for (let presses = 0; presses < 60 && (await focused(page)).trim() !== text; presses++)
        await keyboard.press("Tab");
      t.equal((await focused(page)).trim(), text);
      await keyboard.press("Enter");
    };
    await enter("Add a person");
    await keyboard.press("Tab");
    await keyboard.type(login);
    await keyboard.press("Enter");
    await page.waitForSelector(".copy-row textarea");
    await soon(t).equal(() => focused(page), `Link for ${login}`, "the heading has the focus");
    await enter(`Copy: Link for ${login}`);
    const link = await page.evaluate<string>("globalThis.copied");
    await accessible(t, page, `the link of ${login}`);
    const isWide =
      "[...document.querySelectorAll('dialog, dialog *')].some((one) => one.tagName !== 'TEXTAREA' && getComputedStyle(one).display !== 'inline' && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).clipPath === 'none')";
    t.notOk(await page.evaluate(isWide), "nothing is cut off");
    const reader = await invited(link, options);
    await reader.page.waitForSelector("#new-password");
    await soon(t).equal(() => reader.page.evaluate("document.activeElement?.id"), "new-password");
    await accessible(t, reader.page, `the dialog of ${login}`);
    t.notOk(await reader.page.evaluate(isWide), "nothing is cut off");
    await reader.page.keyboard.type(`chosen-by-${login}`);
    await reader.page.keyboard.press("Tab");
    t.equal(await focused(reader.page), "Show the password");
    await reader.page.keyboard.press("Enter");
    t.equal(await reader.page.getAttribute("#new-password", "type"), "text");
    await reader.page.keyboard.press("Tab");
    await reader.page.keyboard.press("Enter");
    await soon(t).equal(() => sessionOf(reader.page), login);
    t.same([...problems, ...reader.problems], []);
    await reader.page.context().close();
    await page.context().close();
  }
});

t.test("it speaks the language of the page", async (t) => {
  for (const [locale, title, over] of [
    ["de-DE", "Passwort wählen", "Dieser Link gilt nicht mehr"],
    ["fr-FR", "Choisir un mot de passe", "Ce lien n’est plus valable"],
    ["es-ES", "Elegir una contraseña", "Este enlace ya no es válido"],
    ["ru-RU", "Выберите пароль", "Эта ссылка больше не действует"],
  ] as const) {
    const { link } = await linkFor("rosa");
    const options = { locale, viewport: { width: 360, height: 740 } };
    const { page } = await invited(link, options);
    await page.waitForSelector("#new-password");
    t.equal(await page.locator("dialog h2").textContent(), title);
    const fits = () =>
      page.evaluate(
        "document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth",
      );
    t.ok(await fits(), `${locale}: nothing is cut off`);
    await linkFor("rosa");
    await choose(page, "chosen-by-rosa");
    await page.waitForSelector(`h2:has-text('${over}')`);
    t.ok(await fits(), `${locale}: nothing is cut off`);
    await page.context().close();
  }
});
