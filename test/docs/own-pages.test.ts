import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import t from "tap";
import { blocksOf } from "../../src/docs/build/reference/examples.js";
import { loadPages } from "../../src/docs/pages.js";
import { addObject, makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { soon, startBrowser } from "../viewer/support.js";
import { answerFromPackages, publicCdn } from "./public-cdn.support.js";

/** The web pages that the documentation shows, opened in Chromium: each shows its map, and one that is live an edit. */

t.setTimeout(1_200_000);
const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "plan");
await makeStyledLayer(server, "plan", "trees", "#trees { marker-width: 12; marker-fill: #2e7d32; }");
const tree = (lon: number, lat: number) => ({ type: "Point", coordinates: [lon, lat] });
await addObject(server, "trees", tree(13.378, 52.5142), { map: "plan" });
const browser = await startBrowser(t);
const token = await server.token("editor");

/** Another site, which has the page. */
let shown = "";
const other = createServer((request, response) => {
  const isPage = request.url === "/";
  response
    .writeHead(isPage ? 200 : 204, { "content-type": "text/html; charset=utf-8" })
    .end(isPage ? shown : "");
});
await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
t.teardown(() => {
  other.closeAllConnections();
  other.close();
});
const site = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;

/** Opens a page as one of another site. What it has from a public CDN comes from the packages that are here. */
async function open(html: string): Promise<{ page: Page; problems: string[]; asked: string[] }> {
  const problems: string[] = [];
  const asked: string[] = [];
  const context = await browser.newContext({ viewport: { width: 800, height: 600 } });
  const page = await context.newPage();
  page.on("console", (message) => {
    // Chromium without a graphics card tells of its own drawing.
    if (message.type() === "error" && !/WebGL|GPU/.test(message.text())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => asked.push(request.url()));
  await page.route("**/*", async (route) => {
    const url = new URL(route.request().url());
    if (url.origin === site) return route.continue();
    if (url.host === publicCdn) return answerFromPackages(route);
    if (url.origin === server.url) return route.continue();
    problems.push(`asked for ${url}`);
    return route.abort();
  });
  shown = html;
  await page.goto(`${site}/`);
  return { page, problems, asked };
}

const own = loadPages().flatMap(({ path, markdown }) =>
  blocksOf(markdown)
    .filter(({ language, words }) => language === "html" && words.some((word) => word.startsWith("file=")))
    .map(({ code, words }) => ({ name: `${path} ${words.join(" ")}`, path, code })),
);

for (const { name, path, code } of own)
  t.test(`the page of ${name} shows its map`, { timeout: 120_000 }, async (t) => {
    const html = code
      .replaceAll("http://localhost:8080", server.url)
      .replaceAll("tms/city/", "tms/p/")
      .replaceAll("project=city", "project=p");
    const { page, problems, asked } = await open(html);
    const tiles = () => asked.filter((url) => /\/tms\/.*(?:\d+\.(?:png|webp|mvt)|[?&]x=)/.test(url)).length;
    await soon(t).ok(() => tiles() > 0, "it asks for tiles");
    if (path === "tutorials/live-map") {
      await soon(t).ok(() => asked.some((url) => url.includes("/changes/")), "it listens");
      await page.waitForTimeout(500);
      const before = tiles();
      await server.api("POST", "plan/layers/trees/objects/", {
        token,
        body: { fields: {}, geom: tree(13.3785, 52.5143) },
      });
      await soon(t).ok(() => tiles() > before, "it asks again for what an edit has changed");
    }
    t.same(problems, []);
    await page.context().close();
  });

t.ok(own.length >= 3, `${own.length} pages`);
