import t from "tap";
import { addObject, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { hold, makeTown, openPage, pictureComplete, pixel, pixelOf, soon, startBrowser } from "./support.js";

/** An open map shows what changes, by itself. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const token = await server.token("editor");
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

type Page = Parameters<typeof pixel>[0];
const isGreen = ([red, green, blue]: number[]) => red! < 60 && green! > 200 && blue! < 60;
const isGreenAt = async (page: Page, lat: number, lon: number) => {
  const { x, y } = await pixelOf(page, lat, lon);
  return isGreen(await pixel(page, x, y));
};

t.test("an edit at one node is seen in the map that is open at the other", async (t) => {
  const { page, requests, problems } = await openPage(browser, home);
  await waitFor(() => requests.some((address) => address.includes("/tms/p/town/changes/?recent=")));
  await waitFor(() => server.nodes.some(({ services }) => services.mapEvents.listeners === 1));
  await soon(t).notOk(() => isGreenAt(page, -5, 10));
  const before = requests.length;
  const id = await addObject(server, "parks", square(5, -8, 8), { map: "town", node: 1 });
  await waitFor(() => isGreenAt(page, -5, 10));
  await server.api("DELETE", `town/layers/parks/objects/${id}/`, { token, node: 1 });
  await waitFor(async () => !(await isGreenAt(page, -5, 10)));
  await soon(t).ok(() => isGreenAt(page, 5, 5), "the rest is as it was");
  const others = requests
    .slice(before)
    .filter((address) => !address.includes("/tms/p/town/?") && !/^blob:|favicon/.test(address));
  t.same(others, [], "only tiles were loaded");
  t.same(problems, []);
  await page.context().close();
  await waitFor(() => server.nodes.every(({ services }) => services.mapEvents.listeners === 0));
});

t.test("tiles far from a change are not loaded again", async (t) => {
  const { page, requests } = await openPage(browser, `${server.url}/#project=p&map=town&z=9&lat=10&lon=10`);
  await waitFor(() => server.nodes.some(({ services }) => services.mapEvents.listeners === 1));
  const before = requests.length;
  await addObject(server, "parks", square(100, 50, 1), { map: "town" });
  await addObject(server, "parks", square(10, 10, 0.001), { map: "town" });
  await waitFor(() => requests.slice(before).some((address) => address.includes("/tms/p/town/?")));
  const again = requests.slice(before).filter((address) => address.includes("/tms/p/town/?"));
  const all = requests.slice(0, before).filter((address) => address.includes("/tms/p/town/?"));
  t.ok(again.length <= all.length, `${again.length} of ${all.length}`);
  await page.context().close();
});

t.test("a change is seen in each copy of the world", async (t) => {
  const { page, problems } = await openPage(browser, `${server.url}/#project=p&map=town&z=2&lat=0&lon=0`);
  await waitFor(() => server.nodes.some(({ services }) => services.mapEvents.listeners === 1));
  await soon(t).notOk(() => isGreenAt(page, -13, 192));
  const id = await addObject(server, "parks", square(-175, -20, 15), { map: "town" });
  await soon(t).ok(() => isGreenAt(page, -13, 192));
  await server.api("DELETE", `town/layers/parks/objects/${id}/`, { token });
  await soon(t).notOk(() => isGreenAt(page, -13, 192));
  t.same(problems, []);
  await page.context().close();
});

t.test("a style that is changed before the page listens is seen", async (t) => {
  // Of objects that change it is told by another way.
  await server.sql.query("update layer_change set changed_at = changed_at - interval '1 hour'");
  const { page, problems } = await openPage(browser, "about:blank", { waitForMap: false });
  const release = await hold(page, "**/changes/**");
  const asked = page.waitForRequest((request) => request.url().includes("/changes/"));
  await page.goto(home);
  await pictureComplete(page);
  await asked;
  const isBlueAt = async () => {
    const { x, y } = await pixelOf(page, 5, 5);
    const [red, green, blue] = await pixel(page, x, y);
    return red! < 60 && green! < 60 && blue! > 200;
  };
  const styled = (css_style: string) =>
    server.api("PATCH", "town/layers/parks/", { token, body: { parent_id: 0, css_style } });
  const { css_style: before } = (await server.api("GET", "town/layers/parks/", { token })).json;
  t.equal((await styled("#parks { polygon-fill: #00f; }")).status, 200);
  t.notOk(await isBlueAt());
  release();
  await soon(t).ok(isBlueAt);
  await styled(before);
  await soon(t).notOk(isBlueAt);
  t.same(problems, []);
  await page.context().close();
});

t.test("a new layer and a changed style are seen without a reload of the page", async (t) => {
  const { page, problems } = await openPage(browser, home);
  await waitFor(() => server.nodes.some(({ services }) => services.mapEvents.listeners === 1));
  await soon(t).ok(() => isGreenAt(page, 5, 5));
  const changed = await server.api("PATCH", "town/layers/parks/", {
    token,
    body: { parent_id: 0, name: "Gardens", css_style: "#a { polygon-fill: #ffff00; }" },
  });
  t.equal(changed.status, 200, changed.text);
  await waitFor(async () => {
    const { x, y } = await pixelOf(page, 5, 5);
    const [red, green, blue] = await pixel(page, x, y);
    return red! > 200 && green! > 200 && blue! < 60;
  });
  await page.waitForSelector("text=Gardens");
  t.same(problems, []);
  await page.context().close();
});

t.test("a page that was hidden shows what became of the map meanwhile", async (t) => {
  const { page } = await openPage(browser, home);
  await waitFor(() => server.nodes.some(({ services }) => services.mapEvents.listeners === 1));
  const hide = (hidden: boolean) =>
    page.evaluate(`(() => {
      Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
      document.dispatchEvent(new Event("visibilitychange"));
    })()`);
  await hide(true);
  await waitFor(() => server.nodes.every(({ services }) => services.mapEvents.listeners === 0));
  await server.api("PATCH", "town/layers/parks/", { token, body: { parent_id: 0, name: "Lawns" } });
  await hide(false);
  t.ok(await page.waitForSelector(".tree-name:has-text('Lawns')"));
  await page.context().close();
});
