import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import t from "tap";
import { pastedText } from "../../src/viewer/browser/console/pasted-text.js";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, areas, signIn } from "./support.js";

/** Tables and geodata that are pasted, and files that somebody has a link to, become layers in the console. */

const files = createServer((request, response) => {
  if (request.url === "/slow.csv") return void response.writeHead(200).write("name,lat,lon\n");
  if (request.url !== "/areas.geojson") return void response.writeHead(404).end();
  response.end(areas("A", "B"));
});
await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
const link = (path: string) => `http://127.0.0.1:${(files.address() as AddressInfo).port}${path}`;
const server = await startServer({ config: { "links.privateAddresses": true } });
t.teardown(() => server.stop());
t.teardown(() => {
  files.closeAllConnections();
  files.close();
});
const browser = await startBrowser(t);
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });
const table = "name\tlat\tlon\nOak\t50\t10\nElm\t51\t11";

async function opened(map?: string, options: Parameters<typeof openPage>[2] = {}) {
  const hash = map === undefined ? "#project=p" : `#project=p&map=${map}`;
  const { page, problems } = await openPage(browser, `${server.url}/console/${hash}`, {
    waitForMap: false,
    ...options,
  });
  await signIn(page, "admin");
  await page.waitForSelector(map === undefined ? ".home-card" : ".tree :is(.hint, .tree-choose)", {
    state: "attached",
  });
  return { page, problems };
}
/** As a key and a mouse do it. */
const paste = (page: Page, text: string) =>
  page.evaluate(`(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", ${JSON.stringify(text)});
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, composed: true, cancelable: true }));
  })()`);
const drop = (page: Page, type: string, text: string) =>
  page.evaluate(`(() => {
    const data = new DataTransfer();
    data.setData(${JSON.stringify(type)}, ${JSON.stringify(text)});
    for (const event of ["dragenter", "dragover", "drop"])
      document.body.dispatchEvent(new DragEvent(event, { dataTransfer: data, bubbles: true, cancelable: true }));
  })()`);
const imported = (page: Page, text: string) => page.waitForSelector(`.import-state:has-text("${text}")`);
/** A layer that is just being filled has no such column. */
const namesIn = async (map: string): Promise<readonly string[]> => {
  const { json: layers } = await api("GET", `${map}/layers/?type=full`);
  const found = await Promise.all(
    layers.map(({ code }: { code: string }) => api("GET", `${map}/layers/${code}/objects/?fields=name`)),
  );
  return found
    .flatMap(({ json }) =>
      (Array.isArray(json) ? json : []).map(({ fields }: { fields: { name: string } }) => fields.name),
    )
    .sort();
};

t.test("a table that is pasted becomes a map", async (t) => {
  const { page, problems } = await opened();
  await paste(page, table);
  await imported(page, "2 objects");
  const map = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("map")!;
  t.same(await namesIn(map), ["Elm", "Oak"]);
  await page.waitForSelector(".tree-choose:has-text('Pasted')");
  await paste(page, "Just a sentence.");
  await page.waitForSelector("text=neither a link nor a table");
  t.same(problems, []);
});

t.test("a text that is pasted into a field stays there", async (t) => {
  await api("POST", "", { code: "quiet" });
  const { page } = await opened("quiet");
  await page.click("text=Link or table");
  await paste(page, table);
  await page.waitForTimeout(300);
  t.equal(await page.locator(".import").count(), 0);
});

t.test(
  "a file goes to the map wherever it is dropped, and what is dragged within the page does not",
  async (t) => {
    await api("POST", "", { code: "anywhere" });
    await api("POST", "anywhere/layers/", { code: "empty" });
    const { page } = await opened("anywhere", { viewport: { width: 1280, height: 800 } });
    await page.focus(".tree-choose");
    await page.keyboard.press("F2");
    // Else the browser would open the file in place of the page.
    const isTaken = await page.evaluate<boolean>(`(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([${JSON.stringify(areas("A"))}], "late.geojson"));
    const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
    return !document.querySelector(".tree-rename").dispatchEvent(drop);
  })()`);
    t.equal(isTaken, true);
    await soon(t).same(() => namesIn("anywhere"), ["A"]);
    await page.evaluate(`(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.setData("text/uri-list", "https://example.org/");
    for (const [type, target] of [["dragstart", ".to-home"], ["dragover", ".leaflet-container"], ["drop", ".leaflet-container"]])
      document.querySelector(target).dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  })()`);
    t.equal(await page.locator("dialog[open]").count(), 0);
    await page.context().close();
  },
);

t.test("a link is followed, by the dialog, by pasting and by dropping it", async (t) => {
  await api("POST", "", { code: "linked", name: "Linked" });
  const { page, problems } = await opened("linked", { viewport: { width: 360, height: 740 } });
  await page.evaluate("document.querySelector('.add-link').click()");
  await accessible(t, page, "the dialog");
  const [inner, outer] = await page.evaluate<[number, number]>(
    "[document.documentElement.scrollWidth, innerWidth]",
  );
  t.equal(inner, outer, "nothing is wider than the phone");
  await page.keyboard.type("no link");
  await page.click(".name-form .main");
  await page.waitForSelector(".name-form .problem:has-text('neither')");
  await page.fill("#add-text", link("/gone.csv"));
  await page.click(".name-form .main");
  await page.waitForSelector(".name-form .problem:has-text('answers 404')");
  // What was refused is told by the browser, too.
  problems.length = 0;
  await page.fill("#add-text", link("/areas.geojson"));
  // A link is all that is written there.
  await page.press("#add-text", "Enter");
  await imported(page, "2 objects");
  await soon(t).same(() => namesIn("linked"), ["A", "B"]);
  await paste(page, link("/areas.geojson"));
  await soon(t).same(() => namesIn("linked"), ["A", "A", "B", "B"]);
  await drop(page, "text/uri-list", link("/areas.geojson"));
  await soon(t).same(() => namesIn("linked"), ["A", "A", "A", "B", "B", "B"]);
  await drop(page, "text/plain", table);
  await soon(t).same(() => namesIn("linked"), ["A", "A", "A", "B", "B", "B", "Elm", "Oak"]);
  await paste(page, link("/slow.csv"));
  await page.waitForSelector(".name-form [role=status]:has-text('127.0.0.1')");
  await page.click(".name-form .dialog-actions button:has-text('Cancel')");
  t.equal(await page.locator("dialog[open]").count(), 0, "nobody waits for what does not come");
  t.same(problems, []);
});

t.test("texts are told apart", (t) => {
  const kinds = (text: string) => {
    const found = pastedText(text);
    return found?.kind === "data" ? found.extension : found?.kind;
  };
  for (const [text, kind] of [
    [" https://example.org/a.zip?x=1 \n", "link"],
    ["https://example.org/ is nice", undefined],
    ["javascript:alert(1)", undefined],
    [table, "tsv"],
    ["a;b\n1;2\n3;4", "csv"],
    ["a,b\r\n1,2", "csv"],
    ["one, two, three", undefined],
    ["Dear all,\nplease come, today, or not\nYours", undefined],
    ["", undefined],
    [areas("A"), "geojson"],
    ['{"type":"Point","coordinates":[1,2]}', "geojson"],
    ['{"a":1}', undefined],
    ["{broken", undefined],
    ['<?xml version="1.0"?><!-- a --><kml xmlns="x"></kml>', "kml"],
    ["<gpx></gpx>", "gpx"],
    ["<html><body></body></html>", undefined],
  ] as const)
    t.equal(kinds(text), kind, text.slice(0, 40));
  t.match(pastedText('{"type":"Point","coordinates":[1,2]}'), { text: /"type":"Feature"/ });
  t.end();
});
