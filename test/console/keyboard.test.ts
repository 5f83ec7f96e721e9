import type { Page } from "playwright-core";
import t from "tap";
import { geoPackageOf } from "../support/many-tables.js";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible } from "./support.js";

/** From files to a shared link without a pointer: each step can be done, the focus is always seen, and what happens is said. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);

const districts = geoPackageOf({
  name: "districts",
  objects: ["POLYGON ((13.3 52.5, 13.4 52.5, 13.4 52.6, 13.3 52.6, 13.3 52.5))"],
});
const parks = [
  "name,lat,lon,trees",
  "Tiergarten,52.51,13.35,25000",
  "Treptower Park,52.49,13.47,8000",
  "Mauerpark,52.54,13.40,300",
].join("\n");

/** What is wrong with the focus as the page shows it; "" = it is seen. */
const lookAtFocus = `(() => {
  const one = document.activeElement;
  if (!one || one === document.body) return "nothing has the focus";
  const box = one.getBoundingClientRect();
  const middle = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  // A message goes by itself, and a sheet lies over the middle of the map.
  const isSeen = middle && (one.contains(middle) || middle.contains(one) || middle.closest(".toasts"));
  if (!isSeen && one.id !== "map") return "covered or out of sight";
  const { outlineStyle, outlineWidth, outlineOffset, boxShadow } = getComputedStyle(one);
  // Headings have it to be read, and are not worked on.
  if (one.matches("h1, h2, .histogram-border")) return "";
  if (outlineStyle === "none") return boxShadow === "none" ? "without a ring" : "";
  const more = parseFloat(outlineWidth) + parseFloat(outlineOffset);
  for (let around = one.parentElement; around && around !== document.documentElement; around = around.parentElement) {
    if (getComputedStyle(around).overflow === "visible") continue;
    const { left, top, right, bottom } = around.getBoundingClientRect();
    const isCut = [left - box.left, top - box.top, box.right - right, box.bottom - bottom].some((by) => by + more > 0.5);
    if (isCut) return "its ring is cut off by " + around.className;
  }
  return "";
})()`;

/** Notes all that is said to who does not see the page. */
const noteWhatIsSaid = `(() => {
  globalThis.said = [];
  const of = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("[role=status], [role=alert]");
  new MutationObserver((changes) => {
    for (const region of new Set(changes.map(({ target }) => of(target)))) if (region) said.push(region.textContent);
  }).observe(document, { subtree: true, childList: true, characterData: true });
})()`;

function hands(page: Page) {
  const { keyboard } = page;
  const label = () =>
    page.evaluate<string>(`(() => {
      const one = document.activeElement;
      return one === document.body ? "the page" : (one.getAttribute("aria-label") ?? one.textContent).trim();
    })()`);
  const problems: string[] = [];
  const look = async (after: string) => {
    // A dialog that closes gives it back a moment later.
    const problem = await page.evaluate<string>(`new Promise((resolve) => {
      const look = (left) => {
        const problem = ${lookAtFocus};
        if (!problem || left === 0) resolve(problem);
        else requestAnimationFrame(() => look(left - 1));
      };
      look(30);
    })`);
    if (problem) problems.push(`${after}: ${await label()}: ${problem}`);
  };
  return {
    problems,
    label,
    async press(...keys: readonly string[]) {
      for (const key of keys) {
        await keyboard.press(key);
        await look(key);
      }
    },
    type: (text: string) => keyboard.type(text),
    /** Presses Tab until something of that name, or of that id, has the focus. */
    async tabTo(name: string, most = 40) {
      const found = async () =>
        name.startsWith("#")
          ? page.evaluate(`document.activeElement.matches("${name}")`)
          : (await label()) === name;
      for (let presses = 0; presses < most && !(await found()); presses++) {
        await keyboard.press("Tab");
        // At the end of the page the browser's own controls come.
        if (await page.evaluate("document.activeElement !== document.body")) await look(`Tab to ${name}`);
      }
      if (!(await found())) problems.push(`Tab does not lead to ${name}, but to ${await label()}`);
    },
    said: (text: string) =>
      until(page, `globalThis.said.some((one) => one.includes(${JSON.stringify(text)}))`).then(() =>
        page.evaluate("globalThis.said.length = 0"),
      ),
  };
}

for (const [screen, options] of [
  ["a desk", {}],
  ["a dark phone", { colorScheme: "dark", viewport: { width: 360, height: 740 } }],
] as const)
  t.test(`a GeoPackage and a table become a map with a link, by keys alone, on ${screen}`, async (t) => {
    const { page, problems } = await openPage(browser, `${server.url}/console/#project=p`, {
      waitForMap: false,
      ...options,
    });
    const isPhone = "viewport" in options;
    const { press, type, tabTo, said, label, problems: unseen } = hands(page);
    const focused = (name: string) => soon(t).equal(label, name);
    const choose = async (button: string, name: string, buffer: Buffer) => {
      // The browser is told a moment later that somebody waits for it.
      const chooser = page.waitForEvent("filechooser");
      await tabTo(button);
      await press("Enter");
      await (await chooser).setFiles({ name, mimeType: "", buffer });
    };
    await page.evaluate(noteWhatIsSaid);
    await page.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }");

    await page.waitForSelector("#sign-in-login");
    await type("admin");
    await press("Tab");
    await type("wrong");
    await press("Enter");
    await said("wrong");
    await press("Control+a");
    await type("adminadmin");
    await press("Enter");
    await page.waitForSelector(".home-card");
    for (let presses = 0; presses < 14; presses++) {
      await page.keyboard.press("Tab");
      t.notOk(
        await page.evaluate("document.activeElement.id === 'map'"),
        "without a map nothing of it has the focus",
      );
    }

    await choose("Choose files", "districts.gpkg", districts);
    await said("districts: Done: 1 object");
    if (isPhone) {
      await page.waitForFunction("!document.querySelector('.layers').hidden");
      await tabTo("Layers1 of 1 on");
      await press("Enter");
    }
    await choose("Add data", "parks.csv", Buffer.from(parks));
    await said("parks: Done: 3 objects");
    const names = () => page.locator(".tree-choose").allTextContents();
    await soon(t).same(names, ["parks", "districts"]);

    await tabTo("Zoom to parks");
    const box = await page.locator("[aria-label='Zoom to parks']").boundingBox();
    const menu = await page.locator("[aria-label='More for parks']").boundingBox();
    t.ok(box!.x + box!.width <= menu!.x, "beside the menu, and not below it");
    await press("Shift+Tab");

    // A look by values, with labels.
    await press("Enter");
    await focused("Simple");
    await press("ArrowRight");
    await focused("By values");
    // Its form is loaded when it is opened.
    await page.waitForSelector("#visual-kind");
    await press("Tab", "ArrowDown");
    await page.waitForSelector("#visual-border-1");
    await tabTo("#visual-border-1");
    await press("ArrowRight");
    await tabTo("#visual-label");
    await type("n");
    t.equal(await page.inputValue("#visual-label"), "=name");
    await tabTo("Save");
    await press("Enter");
    await said("Saved.");
    await press("Escape");
    await focused("parks");
    const layer = async (code: string) =>
      (await server.api("GET", `districts/layers/${code}/`, { token: await server.token("admin") })).json;
    const [, code] = (
      await server.api("GET", "districts/layers/", { token: await server.token("admin") })
    ).json
      .map(({ code }: { code: string }) => code)
      .reverse();
    t.match((await layer(code)).visualSettings?.property ?? JSON.stringify(await layer(code)), "trees");

    await press("F2");
    await type("Green places");
    await press("Enter");
    await focused("Green places");
    await press("F2");
    await type("Nothing");
    await press("Escape");
    await focused("Green places");
    await press("Alt+ArrowDown");
    await said("Green places: place 2 of 2");
    await focused("Green places");
    await press("Alt+ArrowUp");
    await said("Green places: place 1 of 2");
    await soon(t).same(names, ["Green places", "districts"]);

    // One deleted, and back: what offers that is far away by Tab.
    await press("ArrowDown");
    await focused("districts");
    await press("Delete");
    await focused("Cancel");
    await press("Escape");
    await focused("districts");
    await press("Delete");
    await focused("Cancel");
    await press("Tab", "Enter");
    await focused("Green places");
    await said("districts was deleted");
    await press("Control+z");
    await soon(t).same(names, ["Green places", "districts"]);
    await focused("districts");
    await press("ArrowUp");

    // A value of an object.
    await tabTo("More for Green places");
    await press("Enter");
    await tabTo("Objects");
    await press("Enter");
    await focused("Close");
    await said("3 objects");
    await tabTo("Objects of Green places");
    await press("ArrowDown", "Enter");
    await until(page, "document.activeElement.id === 'object-field-name'");
    await page.keyboard.press("Control+a");
    await type("Park of Treptow");
    await press("Enter");
    await said("Saved.");
    await until(page, "document.activeElement.id === 'object-field-name'");
    await press("Escape");
    await focused("Objects of Green places");
    await press("Control+z");
    await said("Undone.");
    await focused("Objects of Green places");
    await page.waitForSelector(".table-row:has-text('Treptower Park')");
    await accessible(t, page, "the table of a map");
    await press("Escape");
    await focused("More for Green places");

    await tabTo("Publish");
    await press("Enter");
    await focused("Copy link");
    await press("Enter");
    await said("Link copied");
    t.equal(await page.evaluate("globalThis.copied"), `${server.url}/#project=p&map=districts`);
    await press("Escape");
    await focused("Publish");
    t.equal((await fetch(`${server.url}/api/2.8/p/districts/`)).status, 200);
    t.same(unseen, [], "the focus is always seen");
    t.same(
      problems.filter((problem) => !/status of (403|500)/.test(problem)),
      [],
    );
    await server.api("DELETE", "districts/", { token: await server.token("admin") });
    await page.context().close();
  });
