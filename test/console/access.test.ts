import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, areas, signIn } from "./support.js";

/** The console for those who see it otherwise, or work by keys: contrast themes, dark pages, and where the focus is. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const home = `${server.url}/console/#project=p`;

async function made(map: string, ...layers: readonly string[]): Promise<void> {
  await server.api("POST", "", { token, body: { code: map } });
  for (const code of layers) {
    await server.api("POST", `${map}/layers/`, { token, body: { code } });
    await server.api("POST", `${map}/layers/${code}/import/`, { token, body: JSON.parse(areas("A")) });
  }
}
/** What has the focus; BODY = nothing. */
const focused = (page: Page) =>
  page.evaluate<string>(
    "document.activeElement === document.body ? 'BODY' : document.activeElement.textContent.trim() || document.activeElement.getAttribute('aria-label') || document.activeElement.id",
  );

/** Asserts that all that Tab leads to shows that it has the focus. */
async function focusSeen(t: Parameters<typeof accessible>[0], page: Page, what: string): Promise<void> {
  const missing: string[] = [];
  let stops = 0;
  for (; stops < 60; stops++) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate<{ isSeen: boolean; html: string; isKnown: boolean }>(`(() => {
      const one = document.activeElement;
      const isKnown = one === document.body || one.hasAttribute("data-stop");
      one.setAttribute("data-stop", "");
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      const isSeen = one === document.body || (outlineStyle !== "none" && parseFloat(outlineWidth) > 0);
      return { isSeen, isKnown, html: one.outerHTML.slice(0, 120) };
    })()`);
    if (found.isKnown) break;
    if (!found.isSeen) missing.push(found.html);
  }
  await page.evaluate(
    "document.querySelectorAll('[data-stop]').forEach((one) => one.removeAttribute('data-stop'))",
  );
  t.same(missing, [], `the focus is seen: ${what}`);
  t.ok(stops > 2, `${what} has more than one thing to press`);
}

for (const look of [
  { forcedColors: "active", colorScheme: "light" },
  { forcedColors: "active", colorScheme: "dark" },
  { forcedColors: "none", colorScheme: "dark" },
] as const) {
  const { forcedColors, colorScheme } = look;
  t.test(`pages and panels can be used (${colorScheme}, forced colours: ${forcedColors})`, async (t) => {
    const code = `look-${forcedColors}-${colorScheme}`;
    await made(code, "a", "b");
    const { page, problems } = await openPage(browser, home, { waitForMap: false, ...look });
    await signIn(page, "admin");
    await page.waitForSelector(".home-card");
    const looked = async (what: string) => {
      await accessible(t, page, what);
      if (forcedColors === "active") await focusSeen(t, page, what);
    };
    await looked("the maps of a project");
    await page.click(`[data-map='${code}']`);
    await page.waitForSelector(".tree-choose");
    await looked("an open map");
    await page.click(".tree-choose");
    await page.waitForSelector("#style-polygon-fill");
    await looked("the style of a layer");
    await page.keyboard.press("Escape");
    await page.click(".share");
    await page.waitForSelector(".tool-dialog");
    await looked("the dialog of publication");
    t.same(problems, []);
    await page.context().close();
  });
}

t.test("something has the focus, whatever goes away", async (t) => {
  await made("kept", "only");
  const { page } = await openPage(browser, `${home}&map=kept`, { waitForMap: false });
  const { keyboard } = page;
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await soon(t).not(() => focused(page), "BODY", "a map that is opened");

  await page.locator(".tree-choose").focus();
  await keyboard.press("Enter");
  await page.waitForSelector("#style-polygon-fill");
  await page.fill("#style-polygon-fill", "#00ff00");
  await page.locator(".style-footer .main").focus();
  await keyboard.press("Enter");
  await soon(t).ok(() => page.isDisabled(".style-footer .main"));
  await soon(t).equal(() => focused(page), "Simple", "a style that is saved");
  await page.fill("#style-polygon-fill", "#0000ff");
  await page.locator(".style-footer button:not(.main)").focus();
  await keyboard.press("Enter");
  await soon(t).equal(() => focused(page), "Simple", "a draft that is discarded");
  await page.locator(".style-panel .object-header button[aria-label='Close']").focus();
  await keyboard.press("Enter");
  await soon(t).equal(() => focused(page), "only", "the panel of styles that is closed");

  await page.locator(".share").focus();
  await keyboard.press("Enter");
  await page.waitForSelector(".tool-dialog");
  await keyboard.press("Escape");
  await soon(t).equal(() => focused(page), "Publish", "a dialog that is closed");

  await page.locator(".tree-menu").focus();
  await keyboard.press("Enter");
  await page.waitForSelector(".popup-menu:popover-open");
  await keyboard.press("Escape");
  await soon(t).equal(() => focused(page), "More for only", "a menu that is closed");

  await page.locator(".tree-choose").focus();
  await keyboard.press("Delete");
  await page.waitForSelector("text=Delete only?");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await page.waitForSelector(".toast button:has-text('Undo')");
  await soon(t).match(() => focused(page), /^Layers/, "the last layer that is deleted");
  await page.locator(".toast button:has-text('Undo')").focus();
  await keyboard.press("Enter");
  await soon(t).equal(() => focused(page), "only", "what is restored");
  await page.context().close();
});
