import { connect, createServer, type Socket } from "node:net";
import type { Page, Route } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { hold, onRequests, openPage, soon, startBrowser } from "../viewer/support.js";
import { styleText } from "./style-source.support.js";
import { areas, drop, signIn } from "./support.js";

/** What goes wrong while a map is made, and that nothing is lost by it. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const home = `${server.url}/console/#project=p`;
const token = await server.token("admin");
t.test("who may not edit is told so, and who is not signed in sees nothing", async (t) => {
  const { page } = await openPage(browser, home, { waitForMap: false });
  await signIn(page, "viewer");
  await page.waitForSelector("text=You may look, but not edit");
  await drop(page, { name: "a.geojson", text: areas("A") });
  t.equal(await page.locator(".import").count(), 0);
  await page.context().close();
});

t.test("an editor's map is open from the start, as the API has it, and says who may close it", async (t) => {
  const { page } = await openPage(browser, home, { waitForMap: false });
  await signIn(page, "editor");
  await page.waitForSelector(".home-card");
  await drop(page, { name: "Mine.geojson", text: areas("A") });
  await page.waitForSelector(".import[data-state='done']");
  await page.click(".share");
  await page.waitForSelector("text=Only an administrator of the map can change this.");
  t.equal(await page.isDisabled("#publish-private"), true);
  t.equal((await server.api("GET", "mine/")).json.has_publication, true);
  await page.context().close();
});

t.test("a session that ends in the middle is begun again in place, and the work goes on", async (t) => {
  await server.api("POST", "", { token, body: { code: "long" } });
  const { page } = await openPage(browser, `${home}&map=long`, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".layers");
  const endSession = async () => {
    const stored = await page.evaluate<string>("sessionStorage.getItem('mapwright.sessions')");
    const [[, session]] = JSON.parse(stored) as [[string, { token: string }]];
    t.equal(
      (await server.api("GET", "authorized/", { token: session.token })).json,
      false,
      "it is of the console",
    );
    await server.api("POST", "logout/", { token: session.token, body: {} });
  };
  // Between the layer and its objects.
  const release = await hold(page, "**/import/?*");
  const asked = page.waitForRequest("**/import/?*");
  await drop(page, { name: "Rivers.geojson", text: areas("Po", "Arno") });
  await asked;
  await endSession();
  release();
  await page.waitForSelector("text=Your session has ended");
  t.equal(await page.inputValue("#sign-in-login"), "admin");
  await signIn(page, "admin");
  await page.waitForSelector(".import[data-state='done']");
  t.equal((await server.api("GET", "long/layers/?type=full", { token })).json.length, 1, "one layer");

  await page.click(".tree-choose");
  await page.click("#style-tab-text");
  const draft = "#a { polygon-fill: #123456; }";
  await page.fill("#style-text-field", draft);
  await endSession();
  await page.click(".style-footer .main");
  await page.waitForSelector("text=Your session has ended");
  // Who does not want to sign in now keeps the draft.
  await page.keyboard.press("Escape");
  await page.waitForSelector(".style-problem:has-text('You are signed out')");
  t.equal(await styleText(page), draft);
  await page.click(".style-footer .main");
  await signIn(page, "admin");
  const [{ code }] = (await server.api("GET", "long/layers/?type=full", { token })).json;
  await soon(t).equal(
    async () => (await server.api("GET", `long/layers/${code}/`, { token })).json.css_style,
    draft,
  );
  await page.context().close();
});

t.test("a server that goes away in the middle of an upload leaves the file to be sent again", async (t) => {
  const sockets = new Set<Socket>();
  let received = 0;
  let isCut = true;
  const link = createServer((socket) => {
    const { hostname, port } = new URL(server.url);
    const far = connect(Number(port), hostname);
    for (const one of [socket, far]) {
      sockets.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        sockets.delete(one);
        socket.destroy();
        far.destroy();
      });
    }
    socket.on("data", (bytes) => {
      received += bytes.length;
      if (isCut && received > 500_000) for (const each of sockets) each.destroy();
    });
    socket.pipe(far);
    far.pipe(socket);
  });
  await new Promise<void>((resolve) => link.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    link.close();
    for (const each of sockets) each.destroy();
  });
  const { port } = link.address() as { port: number };
  const { page } = await openPage(browser, `http://127.0.0.1:${port}/console/#project=p`, {
    waitForMap: false,
  });
  await signIn(page, "admin");
  await page.waitForSelector(".home-card");
  received = 0;
  const text = areas("Big").replace('"Big"', JSON.stringify("x".repeat(2_000_000)));
  await drop(page, { name: "Cut off.geojson", text });
  await page.waitForSelector(".import[data-state='failed']:has-text('The server cannot be reached')");
  isCut = false;
  await page.click(".import button:has-text('Try again')");
  await page.waitForSelector(".import[data-state='done']");
  const { json: layers } = await server.api("GET", "cut-off/layers/?type=full", { token });
  t.equal(layers?.length ?? 0, 1);
  await page.context().close();
});

t.test(
  "rows that cannot be read are told, and a file that cannot be read leaves nothing behind",
  async (t) => {
    const { page } = await openPage(browser, home, { waitForMap: false });
    await signIn(page, "admin");
    await page.waitForSelector(".home-card");
    const maps = async () => (await server.api("GET", "maps/available/", { token })).json.length;
    const before = await maps();
    await drop(page, { name: "song.mp3", text: "la la" });
    await page.waitForSelector(".import[data-state='failed']:has-text('This format cannot be read')");
    await page.waitForSelector(".home-card");
    t.equal(await maps(), before);
    const inBin = async () => (await server.api("GET", "bin/", { token })).json.entries.length;
    await soon(t).equal(inBin, 0, "nor in the bin");
    await drop(page, { name: "Shops.csv", text: "name,lat,lon\nA,50,10\n=B,none,10\n" });
    await page.waitForSelector(".import[data-state='partly']:has-text('1 row could not be read')");
    const download = page.waitForEvent("download");
    await page.click("text=Download the report");
    t.equal((await download).suggestedFilename(), "Shops-report.csv");
    await page.context().close();
  },
);

t.test("a text that is no table is imported only if that is wanted", async (t) => {
  const { page } = await openPage(browser, home, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".home-card");
  const maps = async () => (await server.api("GET", "maps/available/", { token })).json.length;
  const before = await maps();
  const notes = { name: "notes.txt", text: "Call the mayor\nBuy paint\n".repeat(9_000) };
  const asking = ".import[data-state='asking']:has-text('This does not look like a table')";
  await drop(page, notes);
  await page.waitForSelector(asking);
  await page.click(".import button:has-text('Cancel')");
  await page.waitForSelector(".import[data-state='failed']:has-text('Nothing was kept')");
  await page.waitForSelector(".home-card");
  t.equal(await maps(), before);
  t.same((await server.api("GET", "bin/", { token })).json.entries, []);
  await page.click(".import button:has-text('Try again')");
  await page.waitForSelector(asking);
  // Others do not wait for the answer.
  await drop(page, { name: "Beaches.csv", text: "name,lat,lon\nA,50,10\n" });
  await page.waitForSelector(".import[data-state='done']:has-text('Beaches')");
  await page.click(".import button:has-text('Import it all the same')");
  await page.waitForSelector(".import[data-state='done']:has-text('notes')");
  await drop(page, { name: "two.csv", text: "name,number\nA,1\n" });
  await page.waitForSelector(".import[data-state='done']:has-text('two')");
  await page.context().close();
});

t.test("names are texts, whatever is in them", async (t) => {
  const { page, problems } = await openPage(browser, home, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".home-card");
  const hostile = `"><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1`;
  await drop(page, { name: `${hostile}.geojson`, text: areas(hostile) });
  await page.waitForSelector(".import[data-state='done']");
  t.same(await page.locator(".tree-choose").allTextContents(), [hostile]);
  await page.click(".tree-choose");
  await page.click(".share");
  const code = await page.inputValue(".publish-embed textarea");
  t.notMatch(code, "<img");
  t.equal(await page.inputValue("#publish-title"), hostile);
  t.equal(await page.evaluate("globalThis.hit"), undefined);
  t.same(problems, []);
  await page.context().close();
});

/** Breaks the next requests of a page of that method and address. @returns how many were broken, and all there were */
async function broken(page: Page, method: string, address: RegExp, breaks: ((route: Route) => unknown)[]) {
  const asked = { broken: 0, all: 0 };
  await onRequests(page, address, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    asked.all++;
    const next = breaks.shift();
    if (!next) return route.fallback();
    asked.broken++;
    await next(route);
  });
  return asked;
}
const cut = (route: Route) => route.abort();
/** The server does it, and its answer is lost. */
const loseAnswer = async (route: Route) => {
  await route.fetch();
  await route.abort();
};
const proxySays = (status: number) => (route: Route) => route.fulfill({ status, body: "<h1>Proxy</h1>" });
const uploads = /\/import\/\?/;
const polls = /\/import\/[^/?]+\/$/;
const layersOf = async (map: string) => (await server.api("GET", `${map}/layers/?type=full`, { token })).json;
/** Names of layers with their numbers of objects. */
const contents = async (map: string) => {
  const layers = ((await layersOf(map)) ?? []) as { code: string; name: string }[];
  const counted = layers.map(async ({ code, name }) => {
    const { json } = await server.api("GET", `${map}/layers/${code}/count/?precise=true`, { token });
    return `${name} ${json}`;
  });
  return (await Promise.all(counted)).sort();
};
const card = (page: Page, name: string, state: string) =>
  page.waitForSelector(`.import[data-state='${state}']:has-text('${name}')`);
const file = (name: string) => ({ name: `${name}.geojson`, text: areas("A", "B") });
async function signedIn(login: string) {
  const { page } = await openPage(browser, home, { waitForMap: false });
  await signIn(page, login);
  await page.waitForSelector(".home-card");
  return page;
}

t.test("the card of a file that failed takes nothing away that came after it", async (t) => {
  const page = await signedIn("admin");
  await broken(page, "POST", uploads, [cut]);
  await drop(page, file("Early"));
  await card(page, "Early", "failed");
  await drop(page, file("Late"));
  await card(page, "Late", "done");
  await page.click("[aria-label='Remove Early from the list']");
  await soon(t).same(() => contents("early"), ["Late 2"]);
  await soon(t).same(() => page.locator(".tree-choose").allTextContents(), ["Late"]);
  await page.context().close();
});

t.test(
  "what a proxy says while the server works ends no import, and a layer keeps its objects",
  async (t) => {
    const page = await signedIn("admin");
    const sent = await broken(page, "POST", uploads, []);
    const asked = await broken(page, "GET", polls, [502, 500, 403].map(proxySays));
    await drop(page, file("Proxied"));
    await card(page, "Proxied", "failed");
    t.equal(asked.broken, 3, "only a refusal is told");
    await page.click("text=Try again");
    await card(page, "Proxied", "done");
    t.equal(sent.all, 1, "it is asked for again, not sent");
    t.same(await contents("proxied"), ["Proxied 2"]);

    const release = await hold(page, "**/import/*-*/");
    const held = page.waitForRequest(polls);
    await drop(page, file("Unwatched"));
    await held;
    await soon(t).same(() => contents("proxied"), ["Proxied 2", "Unwatched 2"]);
    const stored = await page.evaluate<string>("sessionStorage.getItem('mapwright.sessions')");
    const [[, session]] = JSON.parse(stored) as [[string, { token: string }]];
    await server.api("POST", "logout/", { token: session.token, body: {} });
    release();
    await page.waitForSelector("text=Your session has ended");
    await page.keyboard.press("Escape");
    await card(page, "Unwatched", "failed");
    await drop(page, file("Third"), file("Fourth"));
    await page.waitForSelector("text=Your session has ended");
    await page.keyboard.press("Escape");
    await card(page, "Third", "failed");
    await card(page, "Fourth", "failed");
    t.equal(await page.locator("dialog").count(), 0, "who does not want to sign in is asked once");
    await page.click(".import:has-text('Third') button:has-text('Try again')");
    await signIn(page, "admin");
    await card(page, "Fourth", "done");
    await soon(t).same(() => contents("proxied"), ["Fourth 2", "Proxied 2", "Third 2", "Unwatched 2"]);
    await page.context().close();
  },
);

t.test("lost answers double nothing, whatever is tried again", async (t) => {
  const page = await signedIn("admin");
  // What the stream tells would be asked for beside what the page asks by itself.
  await page.route(/\/changes\//, (route) => route.abort());
  const again = () => page.click(".import[data-state='failed'] button:has-text('Try again')");
  const lost = [
    await broken(page, "POST", /\/api\/2\.8\/p\/$/, [loseAnswer]),
    await broken(page, "POST", /\/layers\/$/, [loseAnswer]),
    await broken(page, "POST", uploads, [loseAnswer, proxySays(200)]),
  ];
  await drop(page, file("Дороги"));
  for (let times = 1; times <= 4; times++) {
    await soon(t).equal(() => lost.reduce((sum, { broken }) => sum + broken, 0), times);
    await card(page, "Дороги", "failed");
    await again();
  }
  await card(page, "Дороги", "done");
  t.same(
    lost.map((each) => each.broken),
    [1, 1, 2],
  );
  t.same(await contents("dorogi"), ["Дороги 2"]);
  t.notOk(await layersOf("dorogi-2"), "one map");

  // The page cannot show it, but it is there.
  const reads = await broken(page, "GET", /type=full/, [cut]);
  await drop(page, file("Unseen"));
  await card(page, "Unseen", "done");
  await page.waitForSelector(".toast:has-text('The server cannot be reached')");
  t.equal(reads.broken, 1);
  t.equal(await page.locator(".import button:has-text('Try again')").count(), 0);

  await broken(page, "POST", uploads, [cut]);
  await drop(page, file("Twice"));
  await card(page, "Twice", "failed");
  const release = await hold(page, "**/import/?*");
  const sending = page.waitForRequest(uploads);
  await drop(page, file("Slow"));
  await sending;
  await again();
  t.equal(await page.locator(".import button:has-text('Try again')").count(), 0, "it is in the queue now");
  await drop(page, file("Unwanted"));
  await page.click(".import:has-text('Unwanted') button:has-text('Cancel')");
  await card(page, "Unwanted", "failed");
  release();
  await card(page, "Twice", "done");
  t.same(await contents("dorogi"), ["Slow 2", "Twice 2", "Unseen 2", "Дороги 2"]);
  await page.context().close();
});

t.test("an editor is told that an empty map stays, which he may not delete", async (t) => {
  const page = await signedIn("editor");
  await drop(page, { name: "tune.mp3", text: "la la" });
  await page.waitForSelector(
    ".import[data-state='failed']:has-text('tune was made for it and is still there')",
  );
  t.same(await layersOf("tune"), []);
  await page.context().close();
});
