import type { Page } from "playwright-core";
import t from "tap";
import { type Picture, picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";
import { makeTown, openPage, soon, startBrowser } from "./support.js";

/** The viewer with the colours of the user, as Windows' contrast themes force them on pages. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

const shot = async (page: Page, selector: string): Promise<Picture> =>
  picture(await page.locator(selector).first().screenshot());

const light = ({ at }: Picture, x: number, y: number): number => {
  const [red = 0, green = 0, blue = 0] = at(x, y);
  return (red + green + blue) / 3;
};

/** How much of a picture has another brightness than another picture, from 0 to 1. */
function differing(one: Picture, other: Picture): number {
  let count = 0;
  for (let x = 0; x < one.width; x++)
    for (let y = 0; y < one.height; y++) if (Math.abs(light(one, x, y) - light(other, x, y)) > 60) count++;
  return count / (one.width * one.height);
}

for (const colorScheme of ["light", "dark"] as const) {
  t.test(`switches are seen, and whether they are on (${colorScheme})`, async (t) => {
    const { page, problems } = await openPage(browser, home, { forcedColors: "active", colorScheme });
    const on = await shot(page, "[data-code=parks]");
    const off = await shot(page, "[data-code=plans]");
    await page.evaluate("document.querySelector('[data-code=transport]').indeterminate = true");
    const some = await shot(page, "[data-code=transport]");
    const nothing = { ...off, at: () => off.at(0, 0) };
    t.ok(differing(off, nothing) > 0.1, "an outline and a knob");
    t.ok(differing(on, nothing) > 0.1);
    t.ok(differing(on, off) > 0.2);
    t.ok(differing(some, off) > 0.2);
    t.ok(differing(some, on) > 0.05);
    t.same(problems, []);
    await page.context().close();
  });

  t.test(`panels, buttons and what has the focus have outlines (${colorScheme})`, async (t) => {
    const { page } = await openPage(browser, home, { forcedColors: "active", colorScheme });
    await page.click(".languages > button");
    const style = (part: string, property: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector("${part}")).${property}`);
    for (const part of [".layers", ".chooser > .card", ".control-group", ".share", ".language-menu"])
      await soon(t).equal(() => style(part, "borderTopStyle"), "solid", part);
    await page.keyboard.press("Escape");
    await page.click(".tree-menu >> nth=0");
    await soon(t).equal(() => style(".popup-menu", "borderTopStyle"), "solid", "the menu of a layer");
    await page.keyboard.press("Escape");
    await page.click(".sign-in-button");
    await page.focus("#sign-in-login");
    await soon(t).equal(() => style("#sign-in-login", "outlineStyle"), "solid");
    await page.context().close();
  });
}
