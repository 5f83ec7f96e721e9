import t from "tap";
import { loadPages } from "../../src/docs/pages.js";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";

/** The documentation as the server shows it. */

const server = await startServer({ config: { baseUrl: "/geo" } });
t.teardown(() => server.stop());
const docs = `${server.url}/geo/docs/`;
const get = (path: string, init?: RequestInit) => fetch(`${docs}${path}`, init);

t.test("every page is served, and all that it refers to", async (t) => {
  const seen = new Map<string, number>();
  const statusOf = async (url: string) => {
    if (!seen.has(url)) seen.set(url, (await fetch(url)).status);
    return seen.get(url);
  };
  for (const { path, title } of [{ path: "", title: "Documentation" }, ...loadPages()]) {
    const answer = await get(path === "" ? "" : `${path}/`);
    const html = await answer.text();
    t.equal(answer.status, 200, path);
    t.match(html, `<h1>`, title);
    t.notMatch(html, /%build%|%prefix%/, path);
    t.match(answer.headers.get("content-security-policy"), /script-src 'self'/);
    t.notMatch(html, /\sstyle="|<script>|<style/, `${path} needs no inline style or script`);
    for (const [picture] of html.matchAll(/<img [^>]*>/g)) t.match(picture, /width="\d+"/);
    for (const [, link = ""] of html.matchAll(/(?:href|src)="([^"#]+)/g)) {
      if (/^https?:/.test(link)) continue;
      const url = new URL(link, answer.url).href;
      t.match(url, `${server.url}/geo/`, `${path}: ${link}`);
      t.equal(await statusOf(url), 200, `${path}: ${link}`);
    }
  }
});

t.test("a page without its slash leads to the page, others are not found", async (t) => {
  const answer = await get("operating/backup", { redirect: "manual" });
  t.equal(answer.status, 308);
  t.equal((await get("operating/backup")).url, `${docs}operating/backup/`);
  t.equal((await get("operating/nothing")).status, 404);
  t.equal((await get("files/x/../../../package.json")).status, 404);
});

t.test("whoever comes to a page that there is not finds the search and the contents", async (t) => {
  const address = "operating/nothing/";
  const answer = await get(address);
  t.equal(answer.status, 404);
  t.equal(answer.headers.get("cache-control"), "no-store");
  const html = await answer.text();
  t.match(html, '<input type="search"');
  t.notMatch(html, "%build%");
  for (const [, link = ""] of html.matchAll(/(?:href|src)="([^"#]+)/g)) {
    if (/^https?:/.test(link)) continue;
    const followed = await fetch(new URL(link, answer.url));
    await followed.arrayBuffer();
    t.equal(followed.status, 200, link);
  }
  const program = await get(address, { headers: { accept: "application/json" } });
  t.equal(program.status, 404);
  t.match(await program.json(), { title: "Not Found", detail: /"operating\/nothing"/ });
});

t.test("pages are compressed, and asked for again they are not sent again", async (t) => {
  const page = await get("operating/backup/", { headers: { "accept-encoding": "br" } });
  t.equal(page.headers.get("content-encoding"), "br");
  const etag = page.headers.get("etag") ?? "";
  await page.arrayBuffer();
  const again = await get("operating/backup/", {
    headers: { "accept-encoding": "br", "if-none-match": etag },
  });
  t.equal(again.status, 304);
});

const browser = await startBrowser(t);

t.test("the search finds a page, and the keyboard opens it", async (t) => {
  const { page, requests, problems } = await openPage(browser, docs, { waitForMap: false });
  await page.locator("input[type=search]").fill("restore a backup");
  await page.locator(".results a").first().waitFor();
  await soon(t).match(() => page.locator(".results").innerText(), /Restore/i);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/docs\/operating\/(?:restore|backup)\//);
  t.same(
    requests.filter((url) => !url.startsWith(`${server.url}/`) && !url.startsWith("data:")),
    [],
    "nothing from elsewhere",
  );
  t.same(problems, []);
  await page.context().close();
});

t.test("a block that is to be saved shows the name of its file", async (t) => {
  const html = await (await get("how-to/restyle/")).text();
  t.match(html, /<pre><code class="[^"]*" data-file="leaf\.svg">/);
});

t.test("examples name the server that shows them, and are copied without their answers", async (t) => {
  const address = `${docs}tutorials/first-map/`;
  const { page, problems } = await openPage(browser, address, { waitForMap: false });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator(`a[href="${server.url}/geo/#project=city&map=plan"]`).waitFor();
  t.notMatch(await page.locator("article").innerText(), "localhost:8080");
  const block = page.locator(".block", { hasText: "npx mapwright import" });
  await block.hover();
  await block.locator(".copy").click();
  await block.getByText("Copied").waitFor();
  t.equal(
    await page.evaluate("navigator.clipboard.readText()"),
    "npx mapwright import city plan trees trees.csv\n",
  );
  t.same(problems, []);
  await page.context().close();
});

t.test("errors lead to their explanation", async (t) => {
  const failed = await fetch(`${server.url}/geo/api/2.8/nowhere/m/layers/`);
  t.match(failed.headers.get("link"), "</geo/docs/reference/errors/#project_not_found>");
  const missing = await fetch(`${server.url}/geo/api/2.8/p/nowhere/`);
  t.match(await missing.text(), '<a href="/geo/docs/reference/errors/#404">');
});

t.test("on a phone nothing is wider than the screen", async (t) => {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  for (const path of [
    "",
    "operating/backup/",
    "reference/settings/",
    "reference/errors/",
    "reference/cartocss/",
  ]) {
    await page.goto(`${docs}${path}`);
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    t.ok(wide <= 0, `${path}: ${wide} px too wide`);
  }
  await context.close();
});

/** Words of up to 20 characters within codes of the text that stand on two lines. */
const brokenWords = `[...document.querySelectorAll("article :not(pre) > code")].flatMap((code) => {
  const broken = [];
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    for (const { 0: word, index } of texts.currentNode.nodeValue.matchAll(/(?<!\\S)\\S{1,20}(?!\\S)/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word);
    }
  return broken;
})`;

t.test("an option in the text is not broken at its hyphens, also beside others", async (t) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 740 } });
  const page = await context.newPage();
  for (const path of ["how-to/export-data/", "how-to/import-files/", "how-to/offline-tiles/"]) {
    await page.goto(`${docs}${path}`);
    t.same(await page.evaluate(brokenWords), [], path);
  }
  await context.close();
});

t.test("answers below commands are seen without scrolling, on a phone too", async (t) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 740 } });
  const page = await context.newPage();
  await page.goto(`${docs}how-to/restyle/`);
  const answers = page.locator("pre .hljs-comment", { hasText: "There is no property marker-colour" });
  const { x, width } = (await answers.boundingBox())!;
  t.ok(x + width <= 390, `its right end is at ${x + width} px`);
  await context.close();
});
