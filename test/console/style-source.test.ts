import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { selected, styleText } from "./style-source.support.js";
import { accessible, areas, signIn } from "./support.js";

/** The editor of CartoCSS in the console. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const css = `/* of a town */
@road: #aa5500;
#layer {
  line-color: @road;
  line-width: 2;
  [number > 0] { line-join: round; }
}
`;

/** Makes a map with layers, the first of which has the style, and opens its text. */
async function opened(
  map: string,
  style = css,
  options: NonNullable<Parameters<typeof openPage>[2]> = {},
): Promise<{ page: Page; problems: string[]; requests: string[]; saved: () => Promise<string> }> {
  await server.api("POST", "", { token, body: { code: map } });
  for (const [code, css_style] of [
    ["first", style],
    ["second", "#layer { marker-fill: #123456; }"],
  ] as const) {
    await server.api("POST", `${map}/layers/`, { token, body: { code, css_style } });
    await server.api("POST", `${map}/layers/${code}/import/`, {
      token,
      body: JSON.parse(areas("One", "Two")),
    });
    await server.api("PATCH", `${map}/layers/${code}/`, { token, body: { css_style } });
  }
  const open = await openPage(browser, `${server.url}/console/#project=p&map=${map}`, {
    waitForMap: false,
    ...options,
  });
  await signIn(open.page, "admin");
  await openStyle(open.page, "first");
  const saved = async () => (await server.api("GET", `${map}/layers/first/`, { token })).json.css_style;
  return { ...open, saved };
}
async function openStyle(page: Page, layer: string): Promise<void> {
  await page.click(`.tree-choose:text-is("${layer}")`);
  await page.waitForSelector(`.style-panel h2:text-is("${layer}")`);
  await page.click("#style-tab-text");
  await page.waitForSelector(".cm-content");
}
/** Writes a text in the place of all. */
async function write(page: Page, text: string): Promise<void> {
  await page.click(".cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}
const proposed = (page: Page) => page.locator(".cm-completionLabel").allTextContents();
const focused = (page: Page) =>
  page.evaluate<string>("document.activeElement.id || document.activeElement.className");

t.test("what is written has colours, and nothing of it is against the policy of the page", async (t) => {
  const { page, problems, saved } = await opened("colours");
  t.equal(await styleText(page), css.trimEnd().concat("\n"));
  const colours = await page.evaluate<[string, string][]>(`(() => {
    const { shadowRoot } = document.querySelector(".style-code");
    return [...shadowRoot.querySelectorAll(".cm-line span")].map((one) => [one.textContent, getComputedStyle(one).color]);
  })()`);
  const colourOf = (text: string) => colours.find(([written]) => written === text)?.[1];
  const kinds = ["/* of a town */", "@road", "#aa5500", "#layer", "line-color", "2"].map(colourOf);
  t.notOk(kinds.includes(undefined), JSON.stringify(kinds));
  t.equal(new Set(kinds).size, kinds.length, "each kind has a colour of its own");
  t.same(problems, []);
  await page.click(".cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("#layer { line-width: 2;");
  // Over what is selected, and closed by the editor.
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.type("3");
  await soon(t).equal(() => styleText(page), "#layer { line-width: 3;}");
  await page.keyboard.press("Control+s");
  await soon(t).equal(saved, "#layer { line-width: 3;}");
  t.same(problems, []);
  await page.context().close();
});

t.test("properties, their values and the columns of the layer are proposed", async (t) => {
  const { page, problems } = await opened("proposals");
  await write(page, "#layer {\n");
  await page.keyboard.type("line-jo");
  await soon(t).equal(async () => (await proposed(page))[0], "line-join");
  await page.waitForTimeout(200);
  await page.keyboard.press("Enter");
  await soon(t).same(() => proposed(page), ["bevel", "miter", "miter-revert", "round"]);
  await page.keyboard.type("rou");
  await soon(t).same(() => proposed(page), ["round"]);
  await page.waitForTimeout(200);
  await page.keyboard.press("Enter");
  await soon(t).match(() => styleText(page), /line-join: round;/);
  await page.keyboard.press("End");
  await page.keyboard.type(" text-name: [");
  await soon(t).same(async () => (await proposed(page)).sort(), ["name", "number"]);
  await page.waitForTimeout(200);
  await page.keyboard.type("na");
  await soon(t).same(() => proposed(page), ["name"]);
  await page.waitForTimeout(200);
  await page.keyboard.press("Enter");
  await soon(t).match(() => styleText(page), /text-name: \[name\]/);
  await page.keyboard.type("; [");
  await page.keyboard.press("Control+Space");
  await soon(t).same(async () => (await proposed(page)).sort(), ["name", "number", "zoom"]);
  t.same(problems, []);
  await page.context().close();
});

t.test("what is wrong is marked at its place, while it is written and when the server says it", async (t) => {
  const { page, saved } = await opened("errors");
  await write(page, "#layer {\n  line-width: 2;\n  line-colour: red;\n}");
  const marked = () => page.locator(".cm-lintRange-error").allTextContents();
  await soon(t).same(marked, ["line-colour:"]);
  await soon(t).match(
    () => page.locator(".style-found").textContent(),
    "Line 3, column 3: There is no property line-colour; did you mean line-color?",
  );
  await write(page, "#layer {\n  line-width: 2;\n  line-opacity: 7;\n}");
  await soon(t).same(marked, []);
  await soon(t).equal(() => page.locator(".style-found").textContent(), "");
  await page.click(".style-footer .main");
  await page.waitForSelector(".style-problem:has-text('Line 3')");
  await soon(t).same(marked, ["line-opacity:"]);
  t.equal(await selected(page), "line-opacity: 7;");
  t.equal(await page.getAttribute("#style-text-field", "aria-invalid"), "true");
  t.match(await page.getAttribute("#style-text-field", "aria-description"), "line-opacity must be a number");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(" ");
  await soon(t).same(marked, [], "of another text the server has said nothing");
  t.equal(await page.getAttribute("#style-text-field", "aria-invalid"), null);
  t.equal(await saved(), css);
  await page.context().close();
});

t.test("the caret stays in sight when the line below the text says what is wrong", async (t) => {
  const { page } = await opened("caret");
  const lines = Array.from({ length: 80 }, (_, at) => `  line-width: ${at + 1};`);
  await write(page, ["#layer {", ...lines, "  line-colour: red;"].join("\n"));
  await soon(t).match(() => page.locator(".style-found").textContent(), "line-colour");
  const away = () =>
    page.evaluate<number>(`(() => {
      const { shadowRoot } = document.querySelector(".style-code");
      const bottom = (element) => element.getBoundingClientRect().bottom;
      const caret = [...shadowRoot.querySelectorAll(".cm-line")].at(-1);
      return Math.max(0, Math.floor(bottom(caret) - bottom(shadowRoot.querySelector(".cm-scroller"))));
    })()`);
  await soon(t).equal(away, 0);
  await page.context().close();
});

t.test("Tab indents, and after Escape leaves the text; Escape once more closes the style", async (t) => {
  const { page } = await opened("tabs");
  await write(page, "#layer {}");
  await page.keyboard.press("Home");
  await page.keyboard.press("Tab");
  await soon(t).equal(() => styleText(page), "  #layer {}");
  await page.keyboard.press("Escape");
  t.equal(await page.isVisible(".style-panel"), true);
  await page.keyboard.press("Shift+Tab");
  t.equal(await focused(page), "style-tab-text");
  await page.keyboard.press("Tab");
  await soon(t).equal(() => focused(page), "style-code");
  await page.keyboard.press("Escape");
  await page.waitForTimeout(2_500);
  await page.keyboard.press("Tab");
  t.not(await focused(page), "style-code", "however late");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  t.equal(await focused(page), "style-code", "who comes back indents again");
  await soon(t).equal(() => styleText(page), "#layer {}");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.isVisible(".style-panel"), false);
  await page.context().close();
});

t.test("changes are undone, also those of the form, and none of another layer", async (t) => {
  const { page } = await opened("undo", "#layer { line-color: #112233; line-width: 2; }");
  await page.click("#style-tab-form");
  await page.fill("#style-line-stroke", "#ff0000");
  await page.click("#style-tab-text");
  await soon(t).match(() => styleText(page), "line-color: #ff0000");
  await page.click(".cm-content");
  await page.keyboard.press("Control+z");
  await soon(t).match(() => styleText(page), "line-color: #112233");
  await soon(t).equal(() => page.isDisabled(".style-footer .main"), true, "as it is saved");
  await page.keyboard.press("Control+y");
  await soon(t).match(() => styleText(page), "line-color: #ff0000");
  await page.click("#style-tab-form");
  t.equal(await page.inputValue("#style-line-stroke"), "#ff0000");
  await openStyle(page, "second");
  await soon(t).match(() => styleText(page), "marker-fill: #123456");
  await page.click(".cm-content");
  await page.keyboard.press("Control+z");
  t.match(await styleText(page), "marker-fill: #123456");
  await openStyle(page, "first");
  await soon(t).match(() => styleText(page), "line-color: #ff0000", "the draft is kept");
  await page.context().close();
});

t.test("the text is searched, in the language of the page", async (t) => {
  const { page, problems } = await opened("search", css, { locale: "de-DE" });
  await page.click(".cm-content");
  await page.keyboard.press("Control+f");
  await page.waitForSelector(".cm-search");
  t.match(await page.locator(".cm-search").innerText(), "Alle ersetzen");
  await page.keyboard.type("line-");
  await soon(t).equal(() => page.locator(".cm-searchMatch").count(), 3);
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.locator(".cm-search").count(), 0);
  t.equal(await page.isVisible(".style-panel"), true);
  t.same(problems, []);
  await page.context().close();
});

t.test("the editor comes when the text is opened, and without it the text is a field", async (t) => {
  const { page, requests } = await opened("late");
  t.equal(requests.filter((address) => /\/carto\//.test(address)).length, 1);
  await page.context().close();
  const other = await openPage(browser, `${server.url}/console/#project=p&map=late`, { waitForMap: false });
  await other.page.route("**/carto/*.js", (route) => route.abort());
  await signIn(other.page, "admin");
  await other.page.click('.tree-choose:text-is("second")');
  await other.page.waitForSelector("#style-point-fill");
  t.equal(other.requests.filter((address) => /\/carto\//.test(address)).length, 0, "a form needs none");
  await other.page.click("#style-tab-text");
  await soon(t).ok(() => other.problems.some((problem) => /ERR_FAILED/.test(problem)));
  await other.page.fill("textarea#style-text-field", "#layer { marker-fill: #654321; }");
  await other.page.click(".style-footer .main");
  await soon(t).equal(
    async () => (await server.api("GET", "late/layers/second/", { token })).json.css_style,
    "#layer { marker-fill: #654321; }",
  );
  await other.page.context().close();
});

t.test("what is loaded before an editor is opened is small", async (t) => {
  const text = await (await fetch(`${server.url}/console/`)).text();
  const addresses = [...text.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, address]) => address!);
  let sent = 0;
  for (const address of addresses) {
    const answer = await fetch(`${server.url}/${address}`, {
      headers: { "accept-encoding": "br" },
    });
    t.equal(answer.status, 200, address);
    sent += Number(answer.headers.get("content-length"));
  }
  t.ok(sent > 10_000 && sent < 150_000, `${sent} bytes`);
});

for (const look of [
  { colorScheme: "light", forcedColors: "none" },
  { colorScheme: "dark", forcedColors: "none" },
  { colorScheme: "dark", forcedColors: "active" },
] as const) {
  const name = `${look.colorScheme}-${look.forcedColors}`;
  t.test(`the editor is accessible: ${name}`, async (t) => {
    const { page, problems } = await opened(`looks-${name}`, css, look);
    await accessible(t, page, name);
    await page.click(".cm-content");
    const outline = await page.evaluate<string>(
      "getComputedStyle(document.querySelector('.style-code').shadowRoot.querySelector('.cm-editor')).outlineStyle",
    );
    t.equal(outline, "solid", "the focus is seen");
    await page.keyboard.press("Control+f");
    await page.waitForSelector(".cm-search");
    await accessible(t, page, `${name}, search`);
    t.same(problems, []);
    await page.context().close();
  });
}
