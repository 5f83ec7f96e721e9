import { createRequire } from "node:module";
import type JsQr from "jsqr";
import sharp from "sharp";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, pictureComplete, soon, startBrowser, until } from "../viewer/support.js";
import { selected, styleText } from "./style-source.support.js";
import { accessible, areas, drop, signIn } from "./support.js";

/** From a file to a shared map, by pointer and by keys. */

// It is made for CommonJS.
const jsQR = createRequire(import.meta.url)("jsqr") as typeof JsQr.default;
const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const home = `${server.url}/console/#project=p`;

t.test("a dropped file is a shared map after four actions", async (t) => {
  const { page, problems } = await openPage(browser, home, { waitForMap: false });
  await signIn(page, "admin");
  await page.waitForSelector(".home-card");
  await accessible(t, page, "the maps of a project");
  await page.evaluate(`navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }`);
  let actions = 0;
  const act = async (work: () => Promise<unknown>) => {
    actions++;
    await work();
  };
  await act(() => drop(page, { name: "Parks of Rome.geojson", text: areas("Villa", "Garden") }));
  await page.waitForSelector(".import[data-state='done']");
  await act(() => pictureComplete(page)); // looks
  t.match(page.url(), /\/console\/#project=p&map=parks-of-rome(&z=|$)/);
  const hidden = await fetch(`${server.url}/api/2.8/p/parks-of-rome/`);
  t.equal(hidden.status, 403, "until then nobody else sees it");
  await act(() => page.click(".share"));
  await act(() => page.click(".tool-dialog .copy-row button"));
  t.equal(actions, 4);
  await accessible(t, page, "the dialog of publication");
  const link = await page.evaluate<string>("globalThis.copied");
  t.equal(link, `${server.url}/#project=p&map=parks-of-rome`);
  await page.click(".publish-embed summary:text-is('QR code')");
  const picture = await page.locator(".qr-code").screenshot();
  const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const read = jsQR(new Uint8ClampedArray(data), info.width, info.height)?.data;
  t.equal(
    read,
    await page.inputValue("[aria-label='Link to the map']"),
    "a phone reads the link from the screen",
  );
  t.match(await page.inputValue(".publish-embed textarea"), `<iframe src="${server.url}/embed#project=p`);

  const reader = await openPage(browser, link);
  await soon(t).match(() => reader.page.title(), "Parks of Rome");
  t.same(await reader.page.locator(".tree .tree-name").allTextContents(), ["Parks of Rome"]);
  await reader.page.context().close();

  // Closed again, it is closed for others at once.
  await page.click("label[for='publish-private']");
  await page.waitForSelector("text=This map is private");
  t.equal((await fetch(`${server.url}/api/2.8/p/parks-of-rome/`)).status, 403);
  // A text that is selected beyond the edge of the dialog closes it not.
  const title = (await page.locator("#publish-title").boundingBox())!;
  await page.mouse.move(title.x + 60, title.y + title.height / 2);
  await page.mouse.down();
  await page.mouse.move(4, title.y, { steps: 3 });
  await page.mouse.up();
  t.equal(await page.locator(".tool-dialog").count(), 1);
  await page.fill("#publish-title", "Green Rome");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".chooser-title:has-text('Green Rome')");
  t.same(problems, []);
  await page.context().close();
});

t.test("a map is made, styled, arranged and shared with keys only, on a dark phone too", async (t) => {
  for (const options of [{}, { colorScheme: "dark", viewport: { width: 390, height: 844 } } as const]) {
    const { page, problems } = await openPage(browser, home, { waitForMap: false, ...options });
    const { keyboard } = page;
    const isPhone = "viewport" in options;
    const focused = () => page.evaluate<string>("document.activeElement?.textContent ?? ''");
    /** Presses Tab until something of that text has the focus. */
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 60 && (await focused()).trim() !== text; presses++)
        await keyboard.press("Tab");
      t.equal((await focused()).trim(), text);
    };
    await page.waitForSelector("#sign-in-login");
    await keyboard.type("admin");
    await keyboard.press("Tab");
    await keyboard.type("adminadmin");
    await keyboard.press("Enter");
    await page.waitForSelector(".home-card");
    // The browser is told a moment later that somebody waits for it.
    const chosen = page.waitForEvent("filechooser");
    await tabTo("Choose files");
    await keyboard.press("Enter");
    await (await chosen).setFiles(
      ["Lakes", "Woods"].map((name) => ({
        name: `${name}.geojson`,
        mimeType: "",
        buffer: Buffer.from(areas(`${name} A`)),
      })),
    );
    await until(page, "document.querySelectorAll('.tree-choose').length === 2");
    // What is imported changes the layer, of which the server then tells who renames it meanwhile.
    await until(page, "document.querySelectorAll(\".import[data-state='done']\").length === 2");
    if (isPhone) {
      await tabTo("Layers2 of 2 on");
      await keyboard.press("Enter");
    }
    const names = () => page.locator(".tree-choose").allTextContents();
    t.same(await names(), ["Woods", "Lakes"], "the last one is above");
    await tabTo("Woods");
    await keyboard.press("Alt+ArrowDown");
    await soon(t).same(names, ["Lakes", "Woods"]);
    await soon(t).equal(focused, "Woods");
    await keyboard.press("F2");
    await keyboard.type("Forests");
    await keyboard.press("Enter");
    await soon(t).same(names, ["Lakes", "Forests"]);
    await soon(t).equal(focused, "Forests");
    await keyboard.press("Enter");
    await page.waitForSelector("#style-polygon-fill");
    await accessible(t, page, "the style of a layer");
    await tabTo("Simple");
    // Past the maps by values.
    await keyboard.press("ArrowRight");
    await keyboard.press("ArrowRight");
    await keyboard.press("Tab");
    await keyboard.press("Control+Home");
    await keyboard.type("// wooded\n");
    await keyboard.press("Control+s");
    const style = async () => {
      const { json } = await server.api(
        "GET",
        `${/map=([^&]+)/.exec(page.url())![1]}/layers/?type=full&returnCss=1`,
        {
          token: await server.token("admin"),
        },
      );
      return json.find(({ name }: { name: string }) => name === "Forests")?.css_style as string;
    };
    await soon(t).match(style, /^\/\/ wooded/);
    // The first lets Tab leave the text.
    await page.waitForSelector(".cm-content");
    await keyboard.press("Escape");
    await keyboard.press("Escape");
    await soon(t).equal(focused, "Forests");
    await keyboard.press("Delete");
    await page.waitForSelector("text=Delete Forests?");
    await keyboard.press("Enter");
    await soon(t).equal(() => page.locator("dialog").count(), 0);
    t.same(await names(), ["Lakes", "Forests"], "who only presses Enter deletes nothing");
    await tabTo("Forests");
    await keyboard.press("Delete");
    await page.waitForSelector("text=Delete Forests?");
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    await soon(t).same(names, ["Lakes"]);
    await page.waitForSelector(".toast button:has-text('Undo')");
    await tabTo("Undo");
    await keyboard.press("Enter");
    await soon(t).same(names, ["Lakes", "Forests"]);
    await soon(t).equal(focused, "Forests");
    await soon(t).match(style, /^\/\/ wooded/);
    await accessible(t, page, "a map");
    await page.locator(".share").focus();
    await keyboard.press("Enter");
    await page.waitForSelector(".tool-dialog");
    await soon(t).equal(focused, "Copy link");
    t.same(
      problems.filter((problem) => !/status of 500/.test(problem)),
      [],
      "but for a code that was taken",
    );
    await page.context().close();
  }
});

t.test("a style is set without CartoCSS, and what CartoCSS says stays", async (t) => {
  const token = await server.token("admin");
  await server.api("POST", "", { token, body: { code: "styled" } });
  await server.api("POST", "styled/layers/", { token, body: { code: "a", name: "A" } });
  await server.api("POST", "styled/layers/a/import/", { token, body: JSON.parse(areas("One", "Two")) });
  const { page, problems } = await openPage(browser, `${home}&map=styled`, { waitForMap: false });
  await signIn(page, "editor");
  await page.click(".tree-choose");
  await page.fill("#style-polygon-fill", "#ff0000");
  await page.fill("#style-polygon-opacity", "1");
  await page.fill("#style-from", "3");
  await page.selectOption("#style-label", "=number");
  await page.click("#style-tab-text");
  const written = await styleText(page);
  t.match(written, "polygon-fill: #ff0000;");
  t.match(written, "text-name: [number];");
  await page.fill("#style-text-field", `/* by hand */ ${written}`);
  await page.click("#style-tab-form");
  await page.fill("#style-polygon-width", "4");
  await page.click(".style-footer .main");
  const saved = async () => (await server.api("GET", "styled/layers/a/", { token })).json.css_style;
  await soon(t).match(saved, /^\/\* by hand \*\/ #layer\[zoom>=3\]/);
  t.match(await saved(), "line-width: 4;");
  await pictureComplete(page);

  await page.click("#style-tab-text");
  await page.fill("#style-text-field", "#a {\n  line-width: 2;\n  line-colour: red;\n}");
  await page.click(".style-footer .main");
  await page.waitForSelector(".style-problem:has-text('Line 3')");
  await soon(t).equal(() => page.locator(".cm-lintRange-error").textContent(), "line-colour:");
  await soon(t).equal(() => selected(page), "line-colour: red;");
  await page.fill("#style-text-field", "#a { line-color: #00f; [number > 0] { line-color: #0f0; } }");
  await page.click(".style-footer .main");
  await soon(t).match(saved, "[number > 0]");
  await page.click("#style-tab-form");
  await page.waitForSelector("text=This style is kept as CartoCSS");
  // Text may be filled in before the editor hears that all is selected: the browser then writes it over with a look that is refused.
  t.same(
    problems.filter((problem) => !/status of 500|Applying inline style/.test(problem)),
    [],
  );
  await page.context().close();
});

t.test("layers are dragged to their place, and those that are off are off for readers", async (t) => {
  const token = await server.token("admin");
  await server.api("POST", "", { token, body: { code: "dragged" } });
  for (const code of ["a", "b", "c"]) await server.api("POST", "dragged/layers/", { token, body: { code } });
  await server.api("POST", "dragged/folders/", { token, body: { code: "f" } });
  const { page, problems } = await openPage(browser, `${home}&map=dragged`, { waitForMap: false });
  await signIn(page, "admin");
  const row = (name: string) => page.locator(`.tree-row:has(.tree-choose:text-is("${name}"))`);
  const names = () => page.locator(".tree-choose").allTextContents();
  const drag = async (name: string, target: string, part: number) => {
    await row(name).hover();
    const from = (await row(name).locator(".tree-grip").boundingBox())!;
    const to = (await row(target).boundingBox())!;
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(from.x + from.width / 2, to.y + to.height * part, { steps: 4 });
    await page.mouse.up();
  };
  await soon(t).same(names, ["a", "b", "c", "f"]);
  await drag("c", "a", 0.2);
  await soon(t).same(names, ["c", "a", "b", "f"]);
  await drag("a", "f", 0.5);
  await soon(t).same(names, ["c", "b", "f", "a"]);
  t.equal(await page.locator(".tree-list .tree-list .tree-choose").textContent(), "a", "in the folder");
  await row("b").locator("input").uncheck();
  await page.click(".share");
  await page.click(".publish-shown button");
  await page.waitForSelector(".publish-shown", { state: "hidden" });
  const { json } = await server.api("GET", "dragged/layers/");
  t.same(
    json.map(({ code, selected }: { code: string; selected: boolean }) => [code, selected]),
    [
      ["c", true],
      ["b", false],
      ["f", true],
      ["a", true],
    ],
  );
  t.same(problems, []);
  await page.context().close();
});
