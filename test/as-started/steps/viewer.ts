import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import type { Test } from "tap";
import {
  openPage,
  pictureComplete,
  pixelOf,
  screen,
  soon,
  startBrowser,
  until,
} from "../../viewer/support.js";
import { login, password, project, type Step, type World } from "../world.js";
import { onPhoto, photoColour } from "./rasters.js";

/** The page in Chromium. */

type Look = (t: Test, world: World, browser: Browser) => Promise<void>;

const looks: Readonly<Record<string, Look>> = {
  "a raster, a signed-in user, and the chooser of maps": async (t, world, browser) => {
    const { lon, lat, z } = onPhoto;
    const { page, problems } = await openPage(
      browser,
      `${world.url}/#project=${project}&map=rasters&z=${z}&lat=${lat}&lon=${lon}`,
    );
    const { x, y } = await pixelOf(page, lat, lon);
    await soon(t).ok(async () => {
      const shown = (await screen(page)).at(x, y);
      return photoColour.every((value, at) => Math.abs(value - shown[at]!) <= 4);
    }, "the raster is shown");
    const listed = async () => {
      await page.click(".chooser-button");
      await page.waitForSelector(".chooser-entry:has-text('rasters')");
      const entries = await page.locator(".chooser-entry").allTextContents();
      await page.keyboard.press("Escape");
      return entries.filter((entry) => /^sheds/.test(entry));
    };
    t.same(await listed(), [], "a private map is not listed");
    await page.click(".sign-in-button");
    await page.fill("#sign-in-login", login);
    await page.fill("#sign-in-password", password);
    await page.keyboard.press("Enter");
    await soon(t).ok(() => page.isVisible(`.user-button:has-text('${login}')`), "signed in");
    await soon(t).same(listed, ["shedsPrivate"]);
    await page.click(".chooser-button");
    await page.click(".chooser-entry:has-text('City plan')");
    await soon(t).match(() => page.url(), /map=names/);
    await pictureComplete(page);
    t.same(problems, []);
  },
  "somebody who is invited": async (t, world, browser) => {
    const { id } = (await world.api("POST", "members/", { body: { login: "oona" } })).json;
    const { invitation } = (await world.api("POST", `members/${id}/invitation/`)).json;
    const link = `${world.url}/#project=${project}&invitation=${invitation}`;
    const { page, problems } = await openPage(browser, link, { waitForMap: false });
    await page.fill("#new-password", "battery-staple");
    await page.keyboard.press("Enter");
    await soon(t).ok(() => page.isVisible(".user-button:has-text('oona')"), "signed in");
    t.notMatch(page.url(), "invitation");
    t.same(problems, []);
    await page.context().close();
    await world.api("DELETE", `members/${id}/`);
  },
  "legends, on paper too, and layers as one": async (t, world, browser) => {
    const css_style = `#trees { marker-fill: #cccccc; [species = "Oak"] { marker-fill: #007700; } }`;
    await world.api("PATCH", "trees/layers/trees/", { body: { parent_id: 0, css_style } });
    const address = `${world.url}/#project=${project}&map=trees`;
    const { page, problems } = await openPage(browser, `${address}&z=14&lat=52.514&lon=13.377`);
    await soon(t).same(
      async () => (await page.locator(".legend-class:not([hidden])").allInnerTexts()).slice(0, 2),
      ["others", "species = Oak"],
    );
    await page.evaluate("window.printed = 0; window.print = () => { window.printed++; }");
    await page.click("[aria-label=Print]");
    await page.fill("#print-title", "Trees of the park");
    await page.click("dialog [type=submit]");
    await until(page, "window.printed === 1");
    await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
    await page.emulateMedia({ media: "print" });
    await soon(t).match(() => page.innerText("body"), /Trees of the park[\s\S]*species = Oak/);
    await page.emulateMedia({ media: null });
    const pdf = await page.pdf({ preferCSSPageSize: true });
    t.equal(pdf.toString("latin1").match(/\/Type \/Page\b(?!s)/g)?.length, 1, "one page");
    await world.api("PATCH", "trees/", { body: { group_layers: 1, name: "Park" } });
    const grouped = await openPage(browser, address);
    t.same(await grouped.page.locator(".tree-row label").allTextContents(), ["Park"]);
    await world.api("PATCH", "trees/", { body: { group_layers: 0, name: "" } });
    t.same([...problems, ...grouped.problems], []);
  },
  "a sign at a layer that cannot be drawn": async (t, world, browser) => {
    const { lon, lat, z } = onPhoto;
    const address = `${world.url}/#project=${project}&map=torn&z=${z}&lat=${lat}&lon=${lon}`;
    const { page, problems } = await openPage(browser, address);
    const signs = page.locator(".layers-body .missing-sign:visible");
    await soon(t).same(
      () => signs.evaluateAll((all) => all.map((sign) => sign.getAttribute("aria-label"))),
      ["photo cannot be drawn just now."],
    );
    t.same(problems, []);
    // Also from the bin: a backup is refused while a file is gone that is named.
    await world.api("DELETE", "torn/");
    const [{ id: entry }] = (await world.api("GET", "bin/?limit=1")).json.entries;
    await world.api("DELETE", `bin/${entry}/`);
  },
  "a file that becomes a public map in the console": async (t, world, browser) => {
    const { page, problems } = await openPage(browser, `${world.url}/console/${project}/`, {
      waitForMap: false,
    });
    await page.fill("#sign-in-login", login);
    await page.fill("#sign-in-password", password);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".home-card");
    const text = "name,lon,lat\nWell,13.377,52.514\n";
    await page.setInputFiles("input[type=file]", {
      name: "Console wells.csv",
      mimeType: "",
      buffer: Buffer.from(text),
    });
    await page.waitForSelector(".import[data-state='done']");
    await page.click(".share");
    await page.waitForSelector("text=This map is public");
    const link = await page.inputValue(".tool-dialog .copy-row input");
    t.same(problems, []);
    const reader = await openPage(browser, link);
    await soon(t).match(() => reader.page.title(), "Console wells");
    t.same(reader.problems, []);
  },
  "a frame in a page of another site, in German": async (t, world, browser) => {
    const { page, problems } = await openPage(browser, await framing(t, `${world.url}/embed`), {
      waitForMap: false,
    });
    const frame = page.frameLocator("iframe");
    await frame.locator(".leaflet-tile-loaded").first().waitFor();
    await soon(t).equal(() => frame.locator(".whole").innerText(), "Stadtplan");
    await frame.locator(".layers-header").click();
    await frame.locator(".tree-row:has-text('Orte')").waitFor();
    t.same(problems, []);
    const [whole] = await Promise.all([page.waitForEvent("popup"), frame.locator(".whole").click()]);
    t.match(whole.url(), `${world.url}/#project=${project}&map=names`);
    const refused = await openPage(browser, await framing(t, `${world.url}/`), { waitForMap: false });
    await soon(t).match(() => refused.problems.join(), /frame-ancestors|X-Frame-Options/);
  },
};

/** The address of a page of another site that has one of ours in a frame. */
async function framing(t: Test, framed: string): Promise<string> {
  const address = `${framed}#project=${project}&map=names&lng=de`.replaceAll("&", "&amp;");
  const html = `<!doctype html><title>Ours</title><iframe src="${address}" width="600" height="400"></iframe>
    <link rel="icon" href="data:,">`;
  const site = createServer((_request, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end(html),
  );
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  t.teardown(() => site.close());
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
}

export const viewerSteps: readonly Step[] = [
  {
    name: "the viewer",
    also: true,
    walk: async (t, world) => {
      const browser = await startBrowser(t);
      for (const [name, look] of Object.entries(looks)) await t.test(name, (t) => look(t, world, browser));
    },
  },
];
